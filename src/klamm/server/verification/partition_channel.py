"""The question to another broker whether partitions belong to a producer's transaction (AddPartitionsToTxn of brokers).

Asked by the leader of the partitions, of the transaction's coordinator (KIP-890). Where the client does not announce its
partitions itself the question adds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from klamm.base.clock import Ms
from klamm.base.errors import ErrorCode, code_of
from klamm.base.ids import TopicPartition
from klamm.coordinator.shard import Producer
from klamm.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from klamm.server.peers.batched import BatchedChannels, Kind
from klamm.server.peers.peers import Peers

_MOST_PARTITIONS = 10_000


class Question(NamedTuple):
    transactional_id: str
    producer: Producer
    partitions: Sequence[TopicPartition]
    adds: bool
    heard: Callable[[dict[TopicPartition, ErrorCode]], None]


def partition_channels(peers: Peers, *, timeout_ms: Ms) -> BatchedChannels[Question]:
    kind = Kind(
        key_of=lambda question: question.transactional_id,
        size_of=lambda question: len(question.partitions),
        request_of=lambda questions: AddPartitionsToTxnRequest(
            transactions=[_transaction(each) for each in questions]
        ),
        heard=_heard,
    )
    return BatchedChannels(peers, kind, most=_MOST_PARTITIONS, timeout_ms=timeout_ms)


def _transaction(question: Question) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=question.transactional_id,
        producer_id=question.producer.id,
        producer_epoch=question.producer.epoch,
        verify_only=not question.adds,
        topics=[
            AddPartitionsToTxnTopic(name=topic, partitions=[p.partition for p in partitions])
            for topic, partitions in groupby(sorted(question.partitions), key=lambda p: p.topic)
        ],
    )


def _heard(questions: list[Question], answer: AddPartitionsToTxnResponse | ErrorCode) -> None:
    found: dict[tuple[str, TopicPartition], ErrorCode] = {}
    missing = ErrorCode.UNKNOWN_SERVER_ERROR
    if isinstance(answer, ErrorCode):
        missing = answer
    else:
        # Of the whole request; what is not told of is not part of the transaction as far as we know.
        missing = code_of(answer.error_code) or missing
        for result in answer.results_by_transaction:
            for topic in result.topic_results:
                for each in topic.results_by_partition:
                    name = TopicPartition(topic.name, each.partition_index)
                    found[result.transactional_id, name] = code_of(each.partition_error_code)
    for question in questions:
        question.heard(
            {p: found.get((question.transactional_id, p), missing) for p in question.partitions}
        )
