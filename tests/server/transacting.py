"""Transactions spoken by hand: one request after another, in any version, with whatever answer comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from klamm.base.errors import ErrorCode
from klamm.coordinator.shard import Producer
from klamm.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from klamm.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from klamm.protocol.messages.describe_transactions import DescribeTransactionsRequest
from klamm.protocol.messages.end_txn import EndTxnRequest
from klamm.protocol.messages.fetch import FetchRequest
from klamm.protocol.messages.find_coordinator import FindCoordinatorRequest
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest
from klamm.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from klamm.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from klamm.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from klamm.protocol.records.batch import batches
from klamm.protocol.records.reader import read_records
from server.asking import Topic, a_batch, a_fetch, a_produce, error, partition_of
from server.wire_client import WireClient
from support.patience import eventually

NONE = ErrorCode.NONE
READ_COMMITTED = 1
TIMEOUT_MS = 60_000
NOBODY = Producer(-1, -1)


class Speaker:
    """One transactional id on one connection. `producer` is what the broker said last."""

    def __init__(self, client: WireClient, name: str | None = None) -> None:
        self.client = client
        self.name = name or f"tx-{uuid4().hex[:12]}"
        self.producer = NOBODY

        def look() -> None:
            request = FindCoordinatorRequest(key_type=1, coordinator_keys=[self.name])
            assert client.ask(request).coordinators[0].error_code == 0
            # The real Kafka leads its new partitions a little later.
            assert self.describe().error_code in (NONE, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)

        eventually(look)

    def ask_init(
        self,
        claimed: Producer = NOBODY,
        *,
        version: int = 5,
        timeout_ms: int = TIMEOUT_MS,
    ) -> Any:
        return self.client.ask(
            InitProducerIdRequest(
                transactional_id=self.name,
                transaction_timeout_ms=timeout_ms,
                producer_id=claimed.id,
                producer_epoch=claimed.epoch,
            ),
            version,
        )

    def init(self, timeout_ms: int = TIMEOUT_MS) -> Producer:
        """As a client does it: it comes again while an old transaction ends."""

        def look() -> Any:
            answer = self.ask_init(timeout_ms=timeout_ms)
            assert answer.error_code == 0, error(answer.error_code)
            return answer

        answer = eventually(look)
        self.producer = Producer(answer.producer_id, answer.producer_epoch)
        return self.producer

    def produce(
        self,
        topic: Topic,
        *values: bytes,
        partition: int = 0,
        sequence: int = 0,
        version: int = 12,
        producer: Producer | None = None,
        name: str | None = "",
    ) -> Any:
        """The answer about the partition."""
        request = a_produce(
            topic,
            self.batch(*values, sequence=sequence, producer=producer),
            partition=partition,
            transactional_id=self.name if name == "" else name,
        )
        return self.client.ask(request, version).responses[0].partition_responses[0]

    def batch(
        self, *values: bytes, sequence: int = 0, producer: Producer | None = None
    ) -> bytearray:
        who = producer or self.producer
        return a_batch(
            *values,
            producer_id=who.id,
            producer_epoch=who.epoch,
            base_sequence=sequence,
            transactional=True,
        )

    def write(self, topic: Topic, *values: bytes, **how: Any) -> int:
        answer = self.produce(topic, *values, **how)
        assert answer.error_code == 0, error(answer.error_code)
        return int(answer.base_offset)

    def ask_end(self, *, commit: bool, version: int = 5, producer: Producer | None = None) -> Any:
        who = producer or self.producer
        return self.client.ask(
            EndTxnRequest(
                transactional_id=self.name,
                producer_id=who.id,
                producer_epoch=who.epoch,
                committed=commit,
            ),
            version,
        )

    def end(self, *, commit: bool, version: int = 5) -> Producer:
        answer = self.ask_end(commit=commit, version=version)
        assert answer.error_code == 0, error(answer.error_code)
        if version >= 5:
            self.producer = Producer(answer.producer_id, answer.producer_epoch)
        self.until("CompleteCommit" if commit else "CompleteAbort")
        return self.producer

    def add(
        self,
        topic: Topic,
        *partitions: int,
        version: int = 3,
        producer: Producer | None = None,
        verify_only: bool = False,
    ) -> dict[int, ErrorCode]:
        who = producer or self.producer
        topics = [AddPartitionsToTxnTopic(name=topic.name, partitions=list(partitions))]
        if version <= 3:
            request = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.name,
                v3_and_below_producer_id=who.id,
                v3_and_below_producer_epoch=who.epoch,
                v3_and_below_topics=topics,
            )
            results = self.client.ask(request, version).results_by_topic_v3_and_below
        else:
            asked = AddPartitionsToTxnTransaction(
                transactional_id=self.name,
                producer_id=who.id,
                producer_epoch=who.epoch,
                verify_only=verify_only,
                topics=topics,
            )
            answer = self.client.ask(AddPartitionsToTxnRequest(transactions=[asked]), version)
            assert answer.error_code == 0
            results = answer.results_by_transaction[0].topic_results
        return {
            each.partition_index: error(each.partition_error_code)
            for result in results
            for each in result.results_by_partition
        }

    def add_offsets(
        self, group: str, version: int = 4, *, producer: Producer | None = None
    ) -> ErrorCode:
        who = producer or self.producer
        answer = self.client.ask(
            AddOffsetsToTxnRequest(
                transactional_id=self.name,
                producer_id=who.id,
                producer_epoch=who.epoch,
                group_id=group,
            ),
            version,
        )
        return error(answer.error_code)

    def commit_offset(
        self,
        group: str,
        topic: Topic,
        offset: int,
        *,
        version: int = 5,
        producer: Producer | None = None,
    ) -> ErrorCode:
        who = producer or self.producer
        partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=group,
            producer_id=who.id,
            producer_epoch=who.epoch,
            topics=[TxnOffsetCommitRequestTopic(name=topic.name, partitions=[partition])],
        )
        return error(self.client.ask(request, version).topics[0].partitions[0].error_code)

    def describe(self) -> Any:
        request = DescribeTransactionsRequest(transactional_ids=[self.name])
        return self.client.ask(request).transaction_states[0]

    def until(self, state: str) -> None:
        """klamm is there at once; the real Kafka writes its markers a little later."""

        def look() -> None:
            assert self.describe().transaction_state == state

        eventually(look)


def find_group(client: WireClient, group: str) -> None:
    """Makes sure that the group's coordinator is there."""

    def look() -> None:
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
        assert client.ask(request).coordinators[0].error_code == 0
        assert fetch_offset(client, group, "none") == (NONE, -1)

    eventually(look)


def fetch_offset(
    client: WireClient, group: str, topic: str, *, require_stable: bool = True
) -> tuple[ErrorCode, int]:
    asked = OffsetFetchRequestTopics(name=topic, partition_indexes=[0])
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group, topics=[asked])],
        require_stable=require_stable,
    )
    (found,) = client.ask(request, 8).groups
    assert found.error_code == 0, error(found.error_code)
    partition = found.topics[0].partitions[0]
    return error(partition.error_code), partition.committed_offset


def mark(
    client: WireClient,
    topic: Topic,
    producer: Producer,
    *,
    commit: bool,
    coordinator_epoch: int = 0,
    transaction_version: int = 0,
    partition: int = 0,
    version: int = 2,
) -> ErrorCode:
    marker = WritableTxnMarker(
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        transaction_result=commit,
        coordinator_epoch=coordinator_epoch,
        transaction_version=transaction_version,
        topics=[WritableTxnMarkerTopic(name=topic.name, partition_indexes=[partition])],
    )
    answer = client.ask(WriteTxnMarkersRequest(markers=[marker]), version)
    return error(answer.markers[0].topics[0].partitions[0].error_code)


def stable_offset(client: WireClient, topic: Topic) -> int:
    return int(partition_of(client.ask(a_fetch(topic))).last_stable_offset)


def committed_values(client: WireClient, topic: Topic, partition: int = 0) -> Sequence[bytes]:
    """What a reader of committed records takes from a partition, as clients do it (KIP-98)."""
    values: list[bytes] = []
    offset = 0
    while True:
        request: FetchRequest = a_fetch(
            topic, offset, partition=partition, isolation_level=READ_COMMITTED, max_wait_ms=0
        )
        (answer,) = client.ask(request).responses[0].partitions
        assert answer.error_code == 0, error(answer.error_code)
        if offset >= answer.last_stable_offset:
            return values
        aborted = sorted(
            (each.first_offset, each.producer_id) for each in answer.aborted_transactions or ()
        )
        dropping: set[int] = set()
        for header, batch in batches(memoryview(bytes(answer.records or b"")), partial_end=True):
            while aborted and aborted[0][0] <= header.last_offset:
                dropping.add(aborted.pop(0)[1])
            if header.is_control:
                dropping.discard(header.producer_id)
            elif header.producer_id not in dropping and header.base_offset >= offset:
                values += [bytes(record.value or b"") for record in read_records(batch)]
            offset = header.last_offset + 1
