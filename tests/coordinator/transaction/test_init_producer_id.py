"""InitProducerId: who owns a transactional id, and what is left to those who did before."""

import pytest

from coordinator.transaction.desk import ID, NEW, OLD, P0, P1, Desk, refusal
from klamm.base.errors import ErrorCode
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.coordinator.records.transaction import TransactionLogKey
from klamm.coordinator.shard import Producer
from klamm.coordinator.transaction.states import State

FENCED = ErrorCode.PRODUCER_FENCED
LAST_GIVEN = 32_766
VERSIONS = pytest.mark.parametrize("version", [OLD, NEW])


def with_epoch(desk: Desk, epoch: int) -> Producer:
    """An id whose producer has come far: as if it had been initialised that often."""
    desk.init()
    value = desk.written()[-1]
    assert value is not None
    value.producer_epoch = epoch
    key = TransactionLogKey(transactional_id=ID)
    desk.log.append([CoordinatorRecord(key, value, 1)], None, desk.now)
    desk.reload()
    return desk.transaction.producer


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_a_timeout_out_of_bounds_is_refused(timeout_ms: int) -> None:
    desk = Desk()

    code = refusal(lambda: desk.init(timeout_ms=timeout_ms))

    assert code is ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert desk.log.entries == []


def test_the_longest_timeout_is_taken() -> None:
    desk = Desk()

    desk.init(timeout_ms=900_000)

    assert desk.transaction.timeout_ms == 900_000


@VERSIONS
def test_a_zombie_can_do_nothing_after_another_producer_was_initialised(version: int) -> None:
    desk = Desk(version)
    zombie = desk.init()
    owner = desk.init()

    assert owner == Producer(zombie.id, zombie.epoch + 1)
    assert refusal(lambda: desk.add(zombie, P0)) is FENCED
    assert refusal(lambda: desk.verify(zombie, P0)) is FENCED
    assert refusal(lambda: desk.end(zombie, commit=True)) is FENCED
    assert refusal(lambda: desk.init(zombie)) is FENCED


@VERSIONS
def test_what_a_zombie_left_open_is_aborted_and_never_committed(version: int) -> None:
    desk = Desk(version)
    zombie = desk.init()
    desk.add(zombie, P0)

    assert refusal(desk.init) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert refusal(lambda: desk.end(zombie, commit=True)) is not None
    assert refusal(lambda: desk.add(zombie, P1)) is FENCED
    assert not desk.endings()[0].is_commit
    desk.mark()

    # The epoch of the abort is nobody's: the new owner gets the one after it.
    assert desk.init() == Producer(zombie.id, 2)
    assert refusal(lambda: desk.end(zombie, commit=True)) is FENCED


def test_a_producer_may_go_on_with_a_higher_epoch() -> None:
    desk = Desk()
    producer = desk.init()

    assert desk.init(producer) == Producer(producer.id, 1)


def test_the_same_request_again_gets_the_same_epoch() -> None:
    desk = Desk()
    producer = desk.init()
    bumped = desk.init(producer)

    assert desk.init(producer) == bumped
    assert desk.init(producer) == bumped


def test_an_epoch_from_before_the_last_bump_is_fenced() -> None:
    desk = Desk()
    first = desk.init()
    desk.init(desk.init(first))

    assert refusal(lambda: desk.init(first)) is FENCED
    assert refusal(lambda: desk.init(Producer(first.id, 99))) is FENCED
    assert refusal(lambda: desk.init(Producer(first.id + 7, 0))) is FENCED


def test_an_initialisation_by_somebody_else_ends_the_right_to_repeat() -> None:
    desk = Desk()
    producer = desk.init()
    desk.init(producer)
    desk.init()

    assert refusal(lambda: desk.init(producer)) is FENCED


def test_a_producer_of_a_forgotten_id_gets_a_new_one() -> None:
    desk = Desk()

    assert desk.init(Producer(4, 7)) == Producer(100, 0)


def test_without_producer_ids_the_client_comes_again() -> None:
    desk = Desk()
    desk.ids.left = 0

    assert refusal(desk.init) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    desk.ids.left = 1
    assert desk.init() == Producer(100, 0)


class TestEpochsUsedUp:
    """The last epoch that a client is given is 32766; 32767 fences it. As Kafka 4.3.1 answers."""

    def test_the_next_initialisation_gets_another_producer_id(self) -> None:
        desk = Desk()
        old = with_epoch(desk, LAST_GIVEN)

        assert desk.init() == Producer(old.id + 1, 0)
        assert refusal(lambda: desk.init(old)) is FENCED

    def test_its_producer_may_repeat_the_request_for_the_new_id(self) -> None:
        desk = Desk()
        old = with_epoch(desk, LAST_GIVEN)
        new = desk.init(old)

        assert new == Producer(old.id + 1, 0)
        assert desk.init(old) == new
        assert desk.transaction.previous_producer_id == new.id

    @pytest.mark.parametrize("commit", [True, False])
    def test_the_end_of_a_transaction_gives_another_producer_id(self, commit: bool) -> None:
        desk = Desk()
        old = with_epoch(desk, LAST_GIVEN)
        desk.add(old, P0)

        new = desk.end(old, commit=commit)

        assert new == Producer(old.id + 1, 0)
        # The markers fence the old one.
        assert desk.endings()[0].producer == Producer(old.id, 32_767)
        assert desk.transaction.next_producer_id == new.id
        desk.mark()
        assert desk.transaction.producer == new
        assert desk.transaction.previous_producer_id == old.id
        assert desk.end(old, commit=commit) == new
        assert refusal(lambda: desk.end(old, commit=not commit)) is ErrorCode.INVALID_TXN_STATE
        assert desk.init(old) == new

    def test_the_new_id_survives_a_crash_before_the_markers(self) -> None:
        desk = Desk()
        old = with_epoch(desk, LAST_GIVEN)
        desk.add(old, P0)
        new = desk.end(old, commit=True)

        desk.reload()
        desk.mark()

        assert desk.transaction.producer == new
        assert desk.end(old, commit=True) == new

    def test_a_fenced_transaction_ends_with_another_producer_id(self) -> None:
        desk = Desk()
        old = with_epoch(desk, LAST_GIVEN)
        desk.add(old, P0)

        assert refusal(desk.init) is ErrorCode.CONCURRENT_TRANSACTIONS
        assert desk.endings()[0].producer == Producer(old.id, 32_767)
        desk.mark()

        assert desk.transaction.producer == Producer(old.id + 1, 0)
        assert desk.init() == Producer(old.id + 1, 1)

    def test_before_epochs_rose_the_fence_itself_was_the_last(self) -> None:
        desk = Desk(OLD)
        old = with_epoch(desk, LAST_GIVEN)
        desk.add(old, P0)

        assert refusal(desk.init) is ErrorCode.CONCURRENT_TRANSACTIONS
        desk.mark()

        assert desk.transaction.producer == Producer(old.id, 32_767)
        assert desk.init() == Producer(old.id + 1, 0)

    def test_without_producer_ids_the_transaction_stays_open(self) -> None:
        desk = Desk()
        old = with_epoch(desk, LAST_GIVEN)
        desk.add(old, P0)
        desk.ids.left = 0

        assert refusal(lambda: desk.end(old, commit=True)) is (
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        )
        desk.pass_time(200_000)
        assert desk.state is State.ONGOING
        desk.ids.left = 1
        desk.pass_time(20_000)
        assert desk.state is State.PREPARE_ABORT

    def test_at_the_very_last_epoch_an_abort_does_not_overflow(self) -> None:
        desk = Desk()
        broken = with_epoch(desk, 32_767)

        assert desk.end(broken, commit=False).epoch == 0
        assert desk.endings()[0].producer.epoch == 32_767
