"""What is written to __transaction_state: the values that Kafka 4.3.1 wrote in the same situations."""

import pytest

from coordinator.transaction.desk import NEW, OLD, P0, P1, Desk
from klamm.base.errors import CorruptFrame
from klamm.coordinator.records.transaction import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from klamm.coordinator.transaction.records import FRAMING, record_of, transaction_of
from klamm.coordinator.transaction.states import State

START = 1_000_000
ONE = [PartitionsSchema(topic="topic", partition_ids=[0])]
TWO = [PartitionsSchema(topic="topic", partition_ids=[0, 1])]


def value(
    epoch: int,
    state: State,
    partitions: list[PartitionsSchema] | None,
    *,
    updated: int,
    start: int,
    client: int,
    previous: int = 100,
) -> TransactionLogValue:
    return TransactionLogValue(
        producer_id=100,
        previous_producer_id=previous,
        producer_epoch=epoch,
        transaction_timeout_ms=60_000,
        transaction_status=state,
        transaction_partitions=partitions,
        transaction_last_update_timestamp_ms=START + updated,
        transaction_start_timestamp_ms=START + start if start >= 0 else -1,
        client_transaction_version=client,
    )


def a_committed_transaction(desk: Desk) -> None:
    producer = desk.init()
    desk.now += 1
    desk.add(producer, P0)
    desk.now += 1
    desk.add(producer, P1)
    desk.now += 1
    desk.end(producer, commit=True)
    desk.now += 1
    desk.mark()


def test_a_transaction_where_epochs_rise() -> None:
    desk = Desk(NEW)

    a_committed_transaction(desk)

    assert desk.written() == [
        value(0, State.EMPTY, None, updated=0, start=-1, client=0),
        value(0, State.ONGOING, ONE, updated=1, start=1, client=2),
        value(0, State.ONGOING, TWO, updated=2, start=1, client=2),
        value(1, State.PREPARE_COMMIT, TWO, updated=3, start=1, client=2),
        value(1, State.COMPLETE_COMMIT, [], updated=4, start=1, client=2),
    ]


def test_a_transaction_of_the_old_protocol_is_written_as_old_brokers_read_it() -> None:
    desk = Desk(OLD)

    a_committed_transaction(desk)

    assert {bytes(entry or b"")[:2] for _, entry in desk.log.entries} == {b"\0\0"}
    assert desk.written()[-2:] == [
        value(0, State.PREPARE_COMMIT, TWO, updated=3, start=1, client=0, previous=-1),
        value(0, State.COMPLETE_COMMIT, [], updated=4, start=1, client=0, previous=-1),
    ]


# Values from a log that Kafka 4.3.1 wrote: of an abort of nothing, and of epochs that are used up.
KAFKA = {
    "Empty": (
        "0001000000000000001100000000ea600000000001a1e21a2dd7ffffffffffffffff0100080000000000000011"
    ),
    "PrepareAbort": (
        "0001000000000000001100010000ea600301000001a1e21a2dd8000001a1e21a2dd8"
        "020008000000000000001102020002"
    ),
    "PrepareCommit, used up": (
        "000100000000000000087fff0000ea6002020c74782d333431653861393602000000"
        "0000000001a1e20e6d7f000001a1e20e6d7303000800000000000000080108000000000000000902020002"
    ),
    "CompleteCommit, used up": (
        "0001000000000000000900000000ea600401000001a1e20e6d80000001a1e20e6d73"
        "020008000000000000000802020002"
    ),
}


@pytest.mark.parametrize("name", KAFKA)
def test_kafkas_own_bytes_are_read_and_written_again(name: str) -> None:
    raw = bytes.fromhex(KAFKA[name])
    record = FRAMING.decode(b"\0\0\0\x02tx", raw)
    assert record is not None
    assert isinstance(record.key, TransactionLogKey)
    assert isinstance(record.value, TransactionLogValue)

    transaction = transaction_of(record.key, record.value, -1)

    assert transaction.state.label == name.partition(",")[0]
    assert FRAMING.encode(record_of(transaction, NEW)) == (b"\0\0\0\x02tx", raw)


def test_a_state_of_no_name_is_damage() -> None:
    with pytest.raises(CorruptFrame):
        transaction_of(TransactionLogKey(), TransactionLogValue(transaction_status=9), -1)
