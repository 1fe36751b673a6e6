"""Short ways to say what these tests ask a broker again and again: batches, and requests about one partition."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from klamm.base.errors import ErrorCode
from klamm.base.ids import Uuid
from klamm.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from klamm.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from klamm.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from klamm.protocol.records.batch import batches
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record, read_records
from server.wire_client import WireClient

NOW = 1_750_000_000_000
LATEST = -1
EARLIEST = -2


_CODES = {int(code): code for code in ErrorCode}


def error(number: int) -> ErrorCode:
    """The name of a number on the wire."""
    return _CODES[number]


class Topic(NamedTuple):
    name: str
    id: Uuid


def a_batch(*values: bytes, timestamp: int = NOW, **header: Any) -> bytearray:
    """A batch of records with these values, as a producer would send it; one record if none is named."""
    records = [Record(timestamp=timestamp, value=value) for value in values or (b"value",)]
    return build_batch(records, **header)


def a_produce(
    topic: Topic,
    batch: bytes | bytearray | None,
    *,
    partition: int = 0,
    acks: int = -1,
    transactional_id: str | None = None,
) -> ProduceRequest:
    one = (topic, [(partition, batch)])
    return a_produce_of(one, acks=acks, transactional_id=transactional_id)


def a_produce_of(
    *topics: tuple[Topic, list[tuple[int, bytes | bytearray | None]]],
    acks: int = 1,
    transactional_id: str | None = None,
) -> ProduceRequest:
    """Of each topic some partitions and their batches."""
    return ProduceRequest(
        acks=acks,
        timeout_ms=5_000,
        transactional_id=transactional_id,
        topic_data=[
            TopicProduceData(
                name=topic.name,
                topic_id=topic.id,
                partition_data=[
                    PartitionProduceData(index=index, records=data and bytes(data))
                    for index, data in batches
                ],
            )
            for topic, batches in topics
        ],
    )


def append(
    client: WireClient, topic: Topic, *values: bytes, partition: int = 0, **header: Any
) -> int:
    """Appends one batch and gives the offset of its first record."""
    batch = a_batch(*values, **header)
    answer = partition_of(client.ask(a_produce(topic, batch, partition=partition)))
    assert answer.error_code == 0, answer
    return int(answer.base_offset)


def a_fetch(
    topic: Topic,
    offset: int = 0,
    *,
    partition: int = 0,
    partition_max_bytes: int = 1 << 20,
    leader_epoch: int = -1,
    last_fetched_epoch: int = -1,
    **request: Any,
) -> FetchRequest:
    asked = FetchPartition(
        partition=partition,
        fetch_offset=offset,
        partition_max_bytes=partition_max_bytes,
        current_leader_epoch=leader_epoch,
        last_fetched_epoch=last_fetched_epoch,
    )
    return a_fetch_of([(topic, [asked])], **request)


def a_fetch_of(
    topics: Sequence[tuple[Topic, Sequence[FetchPartition]]], **request: Any
) -> FetchRequest:
    """Without a word about it the fetch has no session and waits for nothing."""
    return FetchRequest(
        **{"session_epoch": -1, "max_wait_ms": 0, "min_bytes": 1, **request},
        topics=[
            FetchTopic(topic=topic.name, topic_id=topic.id, partitions=list(partitions))
            for topic, partitions in topics
        ],
    )


def partition_of(response: Any) -> Any:
    """The one partition that an answer to Produce, Fetch or ListOffsets is about."""
    topics = response.topics if hasattr(response, "topics") else response.responses
    (topic,) = topics
    (partition,) = getattr(topic, "partition_responses", None) or topic.partitions
    return partition


def values_in(data: bytes | memoryview | None) -> list[bytes | None]:
    """The values of all records that came whole."""
    return [record.value for record in records_in(data)]


def records_in(data: bytes | memoryview | None) -> list[Record]:
    found = batches(data or b"", partial_end=True)
    return [record for _, batch in found for record in read_records(batch)]


def fetched(
    client: WireClient, topic: Topic, offset: int = 0, **request: Any
) -> list[bytes | None]:
    """The values that a fetch from this offset brings."""
    answer = partition_of(client.ask(a_fetch(topic, offset, **request)))
    assert answer.error_code == 0, answer
    return values_in(answer.records)


def offset_at(client: WireClient, topic: Topic, timestamp: int, *, partition: int = 0) -> int:
    request = ListOffsetsRequest(
        replica_id=-1,
        topics=[
            ListOffsetsTopic(
                name=topic.name,
                partitions=[ListOffsetsPartition(partition_index=partition, timestamp=timestamp)],
            )
        ],
    )
    answer = partition_of(client.ask(request))
    assert answer.error_code == 0, answer
    return int(answer.offset)


NO_TOPIC = Topic("there-is-no-such-topic", Uuid(bytes(range(16))))
