"""Transactions, asked and ended in klamm's own words: librdkafka has no calls for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client.cluster import Cluster, CoordinatorKind
from klamm.client.errors import check
from klamm.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    ProducerState,
    TopicRequest,
)
from klamm.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from klamm.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from klamm.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

# The id is not to be used after it was taken over, so its next transaction needs no time.
_SHORTEST_TIMEOUT_MS = 1


class Listed(NamedTuple):
    transactional_id: str
    coordinator: int
    producer_id: int
    state: str


async def list_all(cluster: Cluster, request: ListTransactionsRequest) -> list[Listed]:
    """Every broker knows those that it coordinates."""
    await cluster.refresh()
    found: list[Listed] = []
    for node_id in sorted(cluster.view.nodes):
        answer = await cluster.ask(node_id, request, ListTransactionsResponse)
        check(answer.error_code)
        if answer.unknown_state_filters:
            states = ", ".join(answer.unknown_state_filters)
            raise ApiError(ErrorCode.INVALID_REQUEST, f"there is no state {states}")
        found += [
            Listed(each.transactional_id, node_id, each.producer_id, each.transaction_state)
            for each in answer.transaction_states
        ]
    return sorted(found)


async def describe(cluster: Cluster, transactional_id: str) -> TransactionState:
    answer = await cluster.ask_coordinator(
        CoordinatorKind.TRANSACTION,
        transactional_id,
        DescribeTransactionsRequest(transactional_ids=[transactional_id]),
        DescribeTransactionsResponse,
    )
    (found,) = answer.transaction_states
    cluster.judge(CoordinatorKind.TRANSACTION, transactional_id, found.error_code)
    return found


async def take_over(cluster: Cluster, transactional_id: str) -> None:
    """A new producer under the id: its transaction is aborted, and the old producer can do nothing more."""
    # Asked first: taking over an id that nobody uses would make it known.
    await describe(cluster, transactional_id)
    answer = await cluster.ask_coordinator(
        CoordinatorKind.TRANSACTION,
        transactional_id,
        InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=_SHORTEST_TIMEOUT_MS,
            producer_id=-1,
            producer_epoch=-1,
        ),
        InitProducerIdResponse,
    )
    cluster.judge(CoordinatorKind.TRANSACTION, transactional_id, answer.error_code)


async def producers(cluster: Cluster, place: TopicPartition) -> Sequence[ProducerState]:
    leader, _ = await cluster.leader(place)
    asked = TopicRequest(name=place.topic, partition_indexes=[place.partition])
    answer = await cluster.ask(
        leader, DescribeProducersRequest(topics=[asked]), DescribeProducersResponse
    )
    (found,) = answer.topics[0].partitions
    check(found.error_code, found.error_message)
    return found.active_producers


async def write_abort(cluster: Cluster, place: TopicPartition, producer: ProducerState) -> None:
    """A marker from outside of any coordinator: for a transaction that its coordinator has forgotten."""
    leader, _ = await cluster.leader(place)
    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=place.topic, partition_indexes=[place.partition])],
        coordinator_epoch=max(0, producer.coordinator_epoch),
    )
    answer = await cluster.ask(
        leader, WriteTxnMarkersRequest(markers=[marker]), WriteTxnMarkersResponse
    )
    check(answer.markers[0].topics[0].partitions[0].error_code)
