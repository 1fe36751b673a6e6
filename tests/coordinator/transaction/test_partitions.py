"""Which partitions take part, and which only say so."""

import pytest

from coordinator.transaction.desk import NEW, OLD, P0, P1, P2, Desk, refusal
from klamm.base.errors import ErrorCode
from klamm.coordinator.shard import Producer
from klamm.coordinator.transaction.states import State

VERSIONS = pytest.mark.parametrize("version", [OLD, NEW])


def test_a_partition_that_was_added_is_verified_and_another_is_not() -> None:
    desk = Desk()
    producer = desk.init()
    desk.add(producer, P0, P1)

    assert desk.verify(producer, P0, P1, P2) == {
        P0: ErrorCode.NONE,
        P1: ErrorCode.NONE,
        P2: ErrorCode.TRANSACTION_ABORTABLE,
    }


@VERSIONS
def test_a_partition_of_a_finished_transaction_is_not_part_of_the_next(version: int) -> None:
    desk = Desk(version)
    producer = desk.init()
    desk.add(producer, P0)
    producer = desk.end(producer, commit=True)
    desk.mark()

    assert desk.verify(producer, P0) == {P0: ErrorCode.TRANSACTION_ABORTABLE}


def test_the_epoch_of_a_finished_transaction_opens_nothing() -> None:
    desk = Desk(NEW)
    finished = desk.init()
    desk.add(finished, P0)
    desk.end(finished, commit=True)
    desk.mark()

    assert refusal(lambda: desk.add(finished, P0)) is ErrorCode.PRODUCER_FENCED
    assert refusal(lambda: desk.verify(finished, P0)) is ErrorCode.PRODUCER_FENCED
    assert desk.state is State.COMPLETE_COMMIT


def test_who_is_not_the_producer_of_the_id_adds_nothing() -> None:
    desk = Desk()
    producer = desk.init()
    stranger = Producer(producer.id + 1, 0)
    unknown = ErrorCode.INVALID_PRODUCER_ID_MAPPING

    assert refusal(lambda: desk.add(stranger, P0)) is unknown
    assert refusal(lambda: desk.verify(stranger, P0)) is unknown
    assert refusal(lambda: desk.add(producer, P0, name="another")) is unknown
    assert refusal(lambda: desk.add(Producer(producer.id, 1), P0)) is ErrorCode.PRODUCER_FENCED
    assert refusal(lambda: desk.add(producer, P0, name="")) is ErrorCode.INVALID_REQUEST
    assert refusal(lambda: desk.verify(producer, P0, name="")) is ErrorCode.INVALID_REQUEST


def test_two_ids_do_not_touch_each_other() -> None:
    desk = Desk()
    first, second = desk.init(name="one"), desk.init(name="two")
    desk.add(first, P0, name="one")
    desk.add(second, P0, name="two")

    desk.end(first, commit=True, name="one")
    desk.mark(name="one")

    assert desk.shard.transactions["one"].state is State.COMPLETE_COMMIT
    assert desk.shard.transactions["two"].state is State.ONGOING
