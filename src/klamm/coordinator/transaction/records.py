"""The records of __transaction_state: one per transactional id, its whole state."""

from __future__ import annotations

from itertools import groupby

from klamm.base.errors import CorruptFrame
from klamm.base.ids import TopicPartition
from klamm.coordinator.records.framing import CoordinatorRecord, Framing
from klamm.coordinator.records.transaction import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from klamm.coordinator.transaction.states import State
from klamm.coordinator.transaction.transaction import Transaction

FRAMING = Framing(((TransactionLogKey, TransactionLogValue),))

# The value's version with which brokers before transaction.version 1 can live.
_PLAIN, _TAGGED = 0, 1


def record_of(transaction: Transaction, server_version: int) -> CoordinatorRecord:
    """As Kafka writes it at this level of transaction.version."""
    return CoordinatorRecord(
        TransactionLogKey(transactional_id=transaction.transactional_id),
        TransactionLogValue(
            producer_id=transaction.producer_id,
            previous_producer_id=transaction.previous_producer_id,
            next_producer_id=transaction.next_producer_id,
            producer_epoch=transaction.producer_epoch,
            transaction_timeout_ms=transaction.timeout_ms,
            transaction_status=transaction.state,
            transaction_partitions=(
                None
                if transaction.state is State.EMPTY
                else [
                    PartitionsSchema(topic=topic, partition_ids=[each.partition for each in group])
                    for topic, group in groupby(
                        sorted(transaction.partitions), key=lambda each: each.topic
                    )
                ]
            ),
            transaction_last_update_timestamp_ms=transaction.update_ms,
            transaction_start_timestamp_ms=transaction.start_ms,
            client_transaction_version=transaction.client_version,
        ),
        _TAGGED if server_version else _PLAIN,
    )


def tombstone_of(transactional_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(TransactionLogKey(transactional_id=transactional_id))


def transaction_of(
    key: TransactionLogKey, value: TransactionLogValue, last_producer_epoch: int
) -> Transaction:
    try:
        state = _STATES[value.transaction_status]
    except KeyError:
        raise CorruptFrame(f"a transaction in state {value.transaction_status}") from None
    return Transaction(
        transactional_id=key.transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        update_ms=value.transaction_last_update_timestamp_ms,
        start_ms=value.transaction_start_timestamp_ms,
        partitions=frozenset(
            TopicPartition(topic.topic, index)
            for topic in value.transaction_partitions or ()
            for index in topic.partition_ids
        ),
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        last_producer_epoch=last_producer_epoch,
        client_version=value.client_transaction_version,
    )


_STATES = {int(state): state for state in State}
