"""Transactions: list, describe, find hanging ones, abort."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import NamedTuple

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client.cluster import Cluster, CoordinatorKind
from klamm.client.errors import check
from klamm.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from klamm.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
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


class TransactionListing(NamedTuple):
    transactional_id: str
    producer_id: int
    state: str


class TransactionDescription(NamedTuple):
    transactional_id: str
    state: str
    timeout_ms: int
    # None: no transaction is open.
    started_at: int | None
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition]
    coordinator: int


class ActiveProducer(NamedTuple):
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    # Where its open transaction begins; None if none is open.
    transaction_start: int | None


class TransactionAdmin:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def list(
        self,
        *,
        states: Collection[str] = (),
        producer_ids: Collection[int] = (),
        running_longer_than_ms: int = -1,
    ) -> list[TransactionListing]:
        """Every broker knows those that it coordinates."""
        request = ListTransactionsRequest(
            state_filters=[*states],
            producer_id_filters=[*producer_ids],
            duration_filter=running_longer_than_ms,
        )

        async def of_node(node_id: int) -> list[TransactionListing]:
            answer = await self._cluster.ask(node_id, request, ListTransactionsResponse)
            check(answer.error_code)
            return [
                TransactionListing(row.transactional_id, row.producer_id, row.transaction_state)
                for row in answer.transaction_states
            ]

        async def attempt() -> list[TransactionListing]:
            await self._cluster.refresh()
            found = await asyncio.gather(*(of_node(node) for node in self._cluster.view.nodes))
            return sorted(listing for part in found for listing in part)

        return await self._cluster.persist(attempt)

    async def describe(self, transactional_id: str) -> TransactionDescription:
        async def attempt() -> TransactionDescription:
            answer = await self._cluster.ask_coordinator(
                CoordinatorKind.TRANSACTION,
                transactional_id,
                DescribeTransactionsRequest(transactional_ids=[transactional_id]),
                DescribeTransactionsResponse,
            )
            (found,) = answer.transaction_states
            self._judge(transactional_id, found.error_code)
            return TransactionDescription(
                transactional_id,
                found.transaction_state,
                found.transaction_timeout_ms,
                found.transaction_start_time_ms if found.transaction_start_time_ms >= 0 else None,
                found.producer_id,
                found.producer_epoch,
                frozenset(
                    TopicPartition(row.topic, index)
                    for row in found.topics
                    for index in row.partitions
                ),
                await self._cluster.coordinator(CoordinatorKind.TRANSACTION, transactional_id),
            )

        return await self._cluster.persist(attempt)

    async def producers(self, partition: TopicPartition) -> Sequence[ActiveProducer]:
        """Who has lately written to a partition, as its leader remembers."""
        request = DescribeProducersRequest(
            topics=[TopicRequest(name=partition.topic, partition_indexes=[partition.partition])]
        )

        async def attempt() -> list[ActiveProducer]:
            leader, _ = await self._cluster.leader(partition)
            answer = await self._cluster.ask(leader, request, DescribeProducersResponse)
            found = answer.topics[0].partitions[0]
            check(found.error_code, found.error_message)
            return [
                ActiveProducer(
                    row.producer_id,
                    row.producer_epoch,
                    row.last_sequence,
                    row.last_timestamp,
                    row.coordinator_epoch,
                    row.current_txn_start_offset if row.current_txn_start_offset >= 0 else None,
                )
                for row in found.active_producers
            ]

        return await self._cluster.persist(attempt)

    async def abort(self, partition: TopicPartition, start_offset: int) -> None:
        """End a transaction that hangs on a partition because its coordinator has forgotten it (KIP-664)."""
        for producer in await self.producers(partition):
            if producer.transaction_start == start_offset:
                await self._write_marker(partition, producer)
                return
        raise ApiError(
            ErrorCode.INVALID_TXN_STATE, f"no open transaction begins at {partition} {start_offset}"
        )

    async def fence(self, transactional_id: str) -> None:
        """Take a transactional id away from its producer; what that has open is aborted (KIP-588)."""
        request = InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=1, producer_id=-1
        )

        async def attempt() -> None:
            answer = await self._cluster.ask_coordinator(
                CoordinatorKind.TRANSACTION, transactional_id, request, InitProducerIdResponse
            )
            self._judge(transactional_id, answer.error_code)

        await self._cluster.persist(attempt)

    async def _write_marker(self, partition: TopicPartition, producer: ActiveProducer) -> None:
        topic = WritableTxnMarkerTopic(
            name=partition.topic, partition_indexes=[partition.partition]
        )
        marker = WritableTxnMarker(
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            transaction_result=False,
            topics=[topic],
            # A producer that never ended a transaction here has met no coordinator.
            coordinator_epoch=max(0, producer.coordinator_epoch),
        )

        async def attempt() -> None:
            leader, _ = await self._cluster.leader(partition)
            answer = await self._cluster.ask(
                leader, WriteTxnMarkersRequest(markers=[marker]), WriteTxnMarkersResponse
            )
            check(answer.markers[0].topics[0].partitions[0].error_code)

        await self._cluster.persist(attempt)

    def _judge(self, transactional_id: str, code: int) -> None:
        self._cluster.judge(CoordinatorKind.TRANSACTION, transactional_id, code)
