"""kafka-python writes, reads by assignment and administers."""

import gc
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from support.patience import eventually

with warnings.catch_warnings():
    # It loads its schemas by a function that Python is about to drop.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.codec
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import AlterConfigOp, ConfigResource, OffsetSpec
    from kafka.errors import (
        InvalidConfigurationError,
        MessageSizeTooLargeError,
        OffsetOutOfRangeError,
        TopicAlreadyExistsError,
        UnknownTopicOrPartitionError,
    )

pytestmark = [
    pytest.mark.compat,
    # A closed client of its leaves two sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def _collect_forgotten_sockets() -> Iterator[None]:
    yield
    gc.collect()


@contextmanager
def producer(bootstrap: str, **options: Any) -> Iterator[KafkaProducer]:
    client = KafkaProducer(bootstrap_servers=bootstrap, **options)
    try:
        yield client
    finally:
        client.close(timeout=10)


@contextmanager
def consumer(bootstrap: str, *topics: str, **options: Any) -> Iterator[KafkaConsumer]:
    """A reader of partition 0 of the topics."""
    client = KafkaConsumer(bootstrap_servers=bootstrap, **options)
    client.assign([TopicPartition(topic, 0) for topic in topics])
    try:
        yield client
    finally:
        client.close(timeout_ms=10_000)


@pytest.fixture(scope="module")
def manager(bootstrap: str) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield client
    client.close()


def write(bootstrap: str, topic: str, values: list[bytes], **options: Any) -> list[int]:
    with producer(bootstrap, **options) as client:
        sent = [client.send(topic, value, partition=0) for value in values]
        return [report.get(30).offset for report in sent]


def take(client: KafkaConsumer, count: int) -> list[Any]:
    records: list[Any] = []
    deadline = time.monotonic() + 30
    while len(records) < count:
        assert time.monotonic() < deadline, f"only {len(records)} of {count} records came"
        for batch in client.poll(timeout_ms=1_000, max_records=count - len(records)).values():
            records += batch
    return records


def read(bootstrap: str, topic: str, count: int, *, offset: int = 0, **options: Any) -> list[Any]:
    with consumer(bootstrap, topic, **options) as client:
        client.seek(TopicPartition(topic, 0), offset)
        return take(client, count)


@pytest.mark.parametrize("acks", [1, "all"])
def test_acknowledged_writes_get_consecutive_offsets(
    bootstrap: str, topic: str, acks: int | str
) -> None:
    values = [b"%d" % n for n in range(200)]

    offsets = write(bootstrap, topic, values, acks=acks, enable_idempotence=acks == "all")

    assert offsets == list(range(200))
    assert [r.value for r in read(bootstrap, topic, 200)] == values


def test_writes_without_acknowledgement_arrive_too(bootstrap: str, topic: str) -> None:
    write(bootstrap, topic, [b"a", b"b"], acks=0, enable_idempotence=False)

    assert [r.value for r in read(bootstrap, topic, 2)] == [b"a", b"b"]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_are_read_back(bootstrap: str, topic: str, codec: str) -> None:
    if not getattr(kafka.codec, f"has_{codec}")():
        pytest.skip(f"kafka-python lacks its optional module for {codec}")
    values = [b"%d " % n * 40 for n in range(300)]

    write(bootstrap, topic, values, compression_type=codec, linger_ms=50)

    assert [r.value for r in read(bootstrap, topic, 300)] == values


def test_keys_headers_timestamps_and_nulls_are_kept(bootstrap: str, topic: str) -> None:
    headers = [("trace", b"1"), ("trace", b"2"), ("empty", b"")]
    with producer(bootstrap) as client:
        client.send(
            topic, b"v", b"k", headers=headers, partition=0, timestamp_ms=1_700_000_000_123
        ).get(30)
        client.send(topic, None, b"tombstone", partition=0).get(30)

    full, tombstone = read(bootstrap, topic, 2)
    assert (full.key, full.value, full.timestamp) == (b"k", b"v", 1_700_000_000_123)
    assert list(full.headers) == headers
    assert (tombstone.key, tombstone.value) == (b"tombstone", None)


def test_too_large_a_batch_is_refused(bootstrap: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic(max_message_bytes="1000")

    with pytest.raises(MessageSizeTooLargeError):
        write(bootstrap, topic, [b"x" * 2_000])


def test_reader_finds_offsets_by_end_start_and_time(bootstrap: str, topic: str) -> None:
    partition = TopicPartition(topic, 0)
    with producer(bootstrap) as client:
        for n in range(10):
            client.send(topic, b"v", partition=0, timestamp_ms=1_000 + n).get(30)

    with consumer(bootstrap, topic) as reader:
        assert reader.beginning_offsets([partition]) == {partition: 0}
        assert reader.end_offsets([partition]) == {partition: 10}
        found = reader.offsets_for_times({partition: 1_005})[partition]
        assert (found.offset, found.timestamp) == (5, 1_005)
        assert reader.offsets_for_times({partition: 9_000}) == {partition: None}


def test_seeking_back_replays_and_the_end_gives_only_news(bootstrap: str, topic: str) -> None:
    partition = TopicPartition(topic, 0)
    write(bootstrap, topic, [b"a", b"b", b"c"])

    with consumer(bootstrap, topic) as reader:
        reader.seek_to_beginning(partition)
        first = [r.value for r in take(reader, 3)]
        reader.seek(partition, 1)
        again = [r.value for r in take(reader, 2)]
        reader.seek_to_end(partition)
        position = reader.position(partition)
        write(bootstrap, topic, [b"news"])
        news = [r.value for r in take(reader, 1)]

    assert (first, again, position, news) == ([b"a", b"b", b"c"], [b"b", b"c"], 3, [b"news"])


def test_waiting_fetch_wakes_up_when_data_arrives(bootstrap: str, topic: str) -> None:
    # take() gives up long before the wait that the reader asks for is over.
    options = {"fetch_max_wait_ms": 60_000, "request_timeout_ms": 90_000}
    with consumer(bootstrap, topic, connections_max_idle_ms=200_000, **options) as reader:
        reader.seek(TopicPartition(topic, 0), 0)
        assert reader.poll(timeout_ms=300) == {}
        write(bootstrap, topic, [b"news"])

        assert [r.value for r in take(reader, 1)] == [b"news"]


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize("sessions", [True, False], ids=["sessions", "no sessions"])
def test_every_kind_of_fetch_gives_the_same_records(
    bootstrap: str, topic: str, isolation: str, sessions: bool
) -> None:
    write(bootstrap, topic, [b"%d" % n for n in range(1_000)], batch_size=2_000)

    records = read(
        bootstrap,
        topic,
        1_000,
        isolation_level=isolation,
        enable_incremental_fetch_sessions=sessions,
        max_partition_fetch_bytes=4_000,
    )

    assert [r.offset for r in records] == list(range(1_000))


def test_topic_is_made_described_grown_and_deleted(
    manager: KafkaAdminClient, topic_name: str
) -> None:
    wanted = {"num_partitions": 2, "replication_factor": 1, "configs": {"retention.ms": "1000"}}

    manager.create_topics({topic_name: wanted}, wait_for_metadata=True)
    (described,) = manager.describe_topics([topic_name])
    manager.create_partitions({topic_name: 5})

    def count_is(wanted: int) -> None:
        (topic,) = manager.describe_topic_partitions([topic_name])["topics"]
        assert [p["partition_index"] for p in topic["partitions"]] == list(range(wanted))

    def is_gone() -> None:
        assert topic_name not in manager.list_topics()

    assert [len(p["replica_nodes"]) for p in described["partitions"]] == [1, 1]
    eventually(lambda: count_is(5))
    manager.delete_topics([topic_name])
    eventually(is_gone)


def test_mistakes_have_the_errors_of_kafka(
    manager: KafkaAdminClient, topic: str, topic_name: str
) -> None:
    with pytest.raises(TopicAlreadyExistsError):
        manager.create_topics([topic])
    with pytest.raises(InvalidConfigurationError):
        manager.create_topics({topic_name: {"configs": {"no.such.config": "1"}}})
    with pytest.raises(UnknownTopicOrPartitionError):
        manager.delete_topics([topic_name])
    with pytest.raises(OffsetOutOfRangeError):
        manager.delete_records({TopicPartition(topic, 0): 10})


@pytest.mark.parametrize("incremental", [True, False])
def test_topic_configs_are_described_altered_and_listed(
    manager: KafkaAdminClient, topic: str, incremental: bool
) -> None:
    def set_to(value: object) -> None:
        change = ConfigResource("TOPIC", topic, {"retention.ms": value})
        manager.alter_configs([change], incremental=incremental)

    def modified() -> dict[str, str]:
        found = manager.describe_configs([ConfigResource("TOPIC", topic)])["topic"][topic]
        return {name: config["value"] for name, config in found.items()}

    def expect(wanted: dict[str, str]) -> None:
        assert modified() == wanted

    expect({})
    set_to("4321")
    eventually(lambda: expect({"retention.ms": "4321"}))
    assert topic in manager.list_config_resources(["TOPIC"])["topic"]
    if incremental:
        set_to((AlterConfigOp.DELETE, None))
        eventually(lambda: expect({}))


def test_records_are_deleted_up_to_an_offset(
    manager: KafkaAdminClient, bootstrap: str, topic: str
) -> None:
    partition = TopicPartition(topic, 0)
    write(bootstrap, topic, [b"%d" % n for n in range(10)])

    deleted = manager.delete_records({partition: 6})[partition]
    first = manager.list_partition_offsets({partition: OffsetSpec.EARLIEST})[partition]

    assert (deleted["low_watermark"], first.offset) == (6, 6)
    assert [r.offset for r in read(bootstrap, topic, 4, offset=6)] == [6, 7, 8, 9]


def test_cluster_quorum_features_and_log_directories_are_described(
    manager: KafkaAdminClient, bootstrap: str, topic: str
) -> None:
    write(bootstrap, topic, [b"x" * 100])

    cluster = manager.describe_cluster()
    quorum = manager.describe_metadata_quorum()
    features = manager.describe_features()
    (of_broker,) = manager.describe_log_dirs({topic: [0]})

    host, port = bootstrap.rsplit(":", 1)
    (node,) = cluster["brokers"]
    assert (node["host"], node["port"]) == (host, int(port))
    assert cluster["controller_id"] == node["broker_id"] == of_broker["broker"]
    assert quorum["topics"][0]["partitions"][0]["leader_id"] == node["broker_id"]
    assert features["metadata.version"]["finalized"][0] > 0
    (directory,) = of_broker["log_dirs"]
    assert directory["error_code"] == 0
    assert directory["topics"][0]["partitions"][0]["partition_size"] > 100


def test_api_versions_name_what_the_broker_serves(manager: KafkaAdminClient) -> None:
    versions = {key.name: known for key, known in manager.api_versions().items()}

    wanted = {"Produce": (0, 13), "Fetch": (4, 18), "ListOffsets": (1, 11), "Metadata": (0, 13)}
    assert wanted.items() <= versions.items()


def test_active_producers_are_described(
    manager: KafkaAdminClient, bootstrap: str, topic: str
) -> None:
    partition = TopicPartition(topic, 0)
    write(bootstrap, topic, [b"a", b"b"], enable_idempotence=True)

    (state,) = manager.describe_producers([partition])[partition].active_producers

    assert state.last_sequence == 1
