"""What time does: transactions that take too long are aborted, ids that nobody uses are forgotten."""

import pytest

from coordinator.room_for import RoomFor
from coordinator.transaction.desk import NEW, OLD, P0, P1, TIMEOUT_MS, Desk, refusal
from klamm.base.errors import ErrorCode
from klamm.coordinator.shard import Producer
from klamm.coordinator.transaction.states import State

LOOK_MS = 10_000
VERSIONS = pytest.mark.parametrize("version", [OLD, NEW])


@VERSIONS
def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced(version: int) -> None:
    desk = Desk(version)
    producer = desk.init()
    desk.add(producer, P0)

    desk.pass_time(TIMEOUT_MS)
    assert desk.state is State.ONGOING
    desk.pass_time(LOOK_MS)

    assert desk.state is State.PREPARE_ABORT
    assert desk.endings()[0].producer == Producer(producer.id, 1)
    assert refusal(lambda: desk.add(producer, P1)) is ErrorCode.PRODUCER_FENCED
    assert refusal(lambda: desk.end(producer, commit=True)) is not None


def test_the_time_counts_from_the_first_partition() -> None:
    desk = Desk()
    producer = desk.init()
    desk.pass_time(10 * TIMEOUT_MS)
    desk.add(producer, P0)
    desk.pass_time(TIMEOUT_MS - LOOK_MS)
    desk.add(producer, P1)

    desk.pass_time(LOOK_MS)
    assert desk.state is State.ONGOING
    desk.pass_time(2 * LOOK_MS)

    assert desk.state is State.PREPARE_ABORT


@pytest.mark.parametrize("days", [-400, 400])
def test_who_sets_the_clock_aborts_no_transaction_and_keeps_none_alive(days: int) -> None:
    desk = Desk()
    producer = desk.init()
    desk.add(producer, P0)

    desk.wall_ahead = days * 86_400_000
    desk.pass_time(TIMEOUT_MS)
    assert desk.state is State.ONGOING

    desk.pass_time(LOOK_MS)
    assert desk.state is State.PREPARE_ABORT


def test_a_crash_does_not_give_a_transaction_more_time() -> None:
    desk = Desk()
    producer = desk.init()
    desk.add(producer, P0)
    desk.pass_time(TIMEOUT_MS)

    desk.reload()
    desk.pass_time(LOOK_MS)

    assert desk.state is State.PREPARE_ABORT


def test_the_producer_of_an_aborted_transaction_may_go_on_with_the_next_epoch() -> None:
    desk = Desk(NEW)
    producer = desk.init()
    desk.add(producer, P0)
    desk.pass_time(TIMEOUT_MS + LOOK_MS)
    desk.mark()

    assert desk.init(producer) == Producer(producer.id, 1)


def test_a_transaction_that_waits_for_an_outside_coordinator_never_times_out() -> None:
    desk = Desk(transaction_max_timeout_ms=2**31 - 1)
    producer = desk.init(timeout_ms=2**31 - 1)
    desk.add(producer, P0)

    desk.pass_time(2**31 + LOOK_MS)

    assert desk.state is State.ONGOING


def test_many_overdue_transactions_are_aborted_in_one_look() -> None:
    desk = Desk()
    for name in ("a", "b", "c"):
        desk.add(desk.init(name=name), P0, name=name)

    desk.pass_time(TIMEOUT_MS + LOOK_MS)

    assert [each.transactional_id for each in desk.endings()] == ["a", "b", "c"]


def test_more_overdue_transactions_than_fit_into_a_batch_are_aborted_in_several() -> None:
    desk = Desk()
    names = [f"{number:02}" for number in range(50)]
    for name in names:
        desk.add(desk.init(name=name), P0, name=name)

    desk.pass_time(TIMEOUT_MS + LOOK_MS)

    assert [each.transactional_id for each in desk.endings()] == names
    assert desk.log.batches[-3:] == [20, 20, 10]


def test_more_unused_ids_than_fit_into_a_batch_are_forgotten_in_several() -> None:
    desk = Desk(transactional_id_expiration_ms=1)
    for number in range(10):
        desk.init(name=f"{number}")
    desk.shard.limit(RoomFor(4))

    desk.pass_time(2 * 3_600_000)

    assert desk.shard.transactions == {}
    assert max(desk.log.batches[10:]) <= 4


@VERSIONS
def test_an_open_transaction_keeps_its_id(version: int) -> None:
    desk = Desk(version, transactional_id_expiration_ms=1_000, transaction_max_timeout_ms=2**31 - 1)
    producer = desk.init(timeout_ms=2**31 - 1)
    desk.add(producer, P0)

    desk.pass_time(10 * 3_600_000)

    assert desk.state is State.ONGOING


def test_an_id_in_use_is_not_forgotten() -> None:
    desk = Desk(transactional_id_expiration_ms=3 * 3_600_000)
    for _ in range(10):
        desk.init()
        desk.pass_time(3_600_000)

    assert desk.transaction.producer_epoch == 9
    desk.pass_time(4 * 3_600_000)
    assert desk.shard.transactions == {}


def test_a_forgotten_id_stays_forgotten_after_a_crash() -> None:
    desk = Desk(transactional_id_expiration_ms=1)
    desk.init()
    desk.pass_time(2 * 3_600_000)

    desk.reload()

    assert desk.shard.transactions == {}
    assert desk.init() == Producer(101, 0)


def test_a_shard_without_transactions_has_no_alarms() -> None:
    desk = Desk(transactional_id_expiration_ms=1)
    desk.init()
    desk.pass_time(2 * 3_600_000)

    assert desk.shard.deadlines.next is None
