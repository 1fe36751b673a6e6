"""Guards: an answer of the coordinator that comes too late opens nothing."""

import pytest

from klamm.base.errors import ApiError, ErrorCode
from klamm.log.state.producers import ProducerStates
from klamm.replication.verification import Guard, Verifications

PRODUCER = 7


def begin(
    verifications: Verifications,
    producers: ProducerStates,
    *,
    epoch: int = 0,
    sequence: int = 0,
    bumps_epochs: bool = False,
) -> Guard:
    guard = verifications.begin(producers, PRODUCER, epoch, sequence, bumps_epochs=bumps_epochs)
    assert guard is not None
    return guard


def opened(producers: ProducerStates, epoch: int = 0, sequence: int = 0) -> None:
    producers.appended(PRODUCER, epoch, sequence, 0, 0, 0, True)


def refused(act: object) -> ErrorCode:
    with pytest.raises(ApiError) as caught:
        act()  # type: ignore[operator]
    return caught.value.code


def test_an_open_transaction_needs_no_guard() -> None:
    verifications, producers = Verifications(), ProducerStates()
    opened(producers)

    assert verifications.begin(producers, PRODUCER, 0, 1, bumps_epochs=True) is None
    assert len(verifications) == 0


def test_an_older_epoch_is_refused_before_anybody_is_asked() -> None:
    verifications, producers = Verifications(), ProducerStates()
    opened(producers, epoch=3)

    code = refused(lambda: begin(verifications, producers, epoch=2))

    assert code is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_marker_voids_the_guards_of_its_producer() -> None:
    verifications, producers = Verifications(), ProducerStates()
    guard = begin(verifications, producers)
    verifications.void(PRODUCER)
    # The next transaction waits too: the old answer must not let the old batch into it.
    following = begin(verifications, producers)

    assert following is not guard
    code = refused(lambda: verifications.check(producers, PRODUCER, guard, 0))
    assert code is ErrorCode.INVALID_TXN_STATE
    verifications.check(producers, PRODUCER, following, 0)


def test_of_two_batches_that_wait_the_first_goes_first() -> None:
    verifications, producers = Verifications(), ProducerStates()
    guard = begin(verifications, producers, sequence=4)
    assert begin(verifications, producers, sequence=5) is guard

    code = refused(lambda: verifications.check(producers, PRODUCER, guard, 5))
    assert code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    verifications.check(producers, PRODUCER, guard, 4)
    opened(producers, sequence=4)
    verifications.check(producers, PRODUCER, guard, 5)


def test_where_epochs_rise_a_new_epoch_begins_with_sequence_0() -> None:
    verifications, producers = Verifications(), ProducerStates()
    guard = begin(verifications, producers, sequence=5, bumps_epochs=True)

    code = refused(lambda: verifications.check(producers, PRODUCER, guard, 5))

    assert code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_where_epochs_rise_an_epoch_that_is_known_goes_on() -> None:
    verifications, producers = Verifications(), ProducerStates()
    producers.appended(PRODUCER, 1, 0, 0, 0, 0, False)
    guard = begin(verifications, producers, epoch=1, sequence=1, bumps_epochs=True)

    verifications.check(producers, PRODUCER, guard, 1)


def test_a_newer_epoch_has_a_guard_of_its_own() -> None:
    verifications, producers = Verifications(), ProducerStates()
    guard = begin(verifications, producers, epoch=0)
    newer = begin(verifications, producers, epoch=1)

    code = refused(lambda: verifications.check(producers, PRODUCER, guard, 0))

    assert code is ErrorCode.INVALID_TXN_STATE
    verifications.check(producers, PRODUCER, newer, 0)


def test_nothing_is_kept_when_nobody_waits() -> None:
    verifications, producers = Verifications(), ProducerStates()
    guards = [begin(verifications, producers), begin(verifications, producers)]

    verifications.end(PRODUCER, guards[0])
    assert len(verifications) == 1
    verifications.end(PRODUCER, guards[1])

    assert len(verifications) == 0
