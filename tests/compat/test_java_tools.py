"""The command line tools of Apache Kafka, as an operator types them. Each start of Java costs a second: few, full tests.

Those that read in groups are in tools/.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from support.brokers import Broker
from support.kafka_jars import java_tool, run_java
from support.patience import eventually

pytestmark = pytest.mark.compat

Tool = Callable[..., str]


@pytest.fixture
def tool(bootstrap: str) -> Tool:
    """Runs a tool against the broker under test."""

    def run(name: str, *args: str, stdin: str | None = None) -> str:
        return java_tool(name, "--bootstrap-server", bootstrap, *args, stdin=stdin)

    return run


def test_topics_are_made_described_altered_listed_and_deleted(tool: Tool, topic_name: str) -> None:
    topics: Callable[..., str] = lambda *args: tool("TopicCommand", *args)  # noqa: E731

    made = topics(
        "--create", "--topic", topic_name, "--partitions", "2", "--config", "retention.ms=1000"
    )
    described = topics("--describe", "--topic", topic_name)
    topics("--alter", "--topic", topic_name, "--partitions", "4")
    listed = topics("--list").split()
    topics("--delete", "--topic", topic_name)

    assert f"Created topic {topic_name}." in made
    summary = r"PartitionCount: 2\s+ReplicationFactor: 1\s+Configs: min\.insync\.replicas=1,retention\.ms=1000"
    assert re.search(summary, described)
    assert re.search(r"Partition: 1\s+Leader: (\d+)\s+Replicas: \1\s+Isr: \1\s", described)
    assert topic_name in listed
    eventually(lambda: _assert_absent(topic_name, topics("--list").split()))


def _assert_absent(name: str, names: list[str]) -> None:
    assert name not in names


def test_configs_of_topics_and_brokers_are_altered_and_described(
    bootstrap: str, topic: str
) -> None:
    def configs(*args: str) -> str:
        return run_java("kafka.admin.ConfigCommand", "--bootstrap-server", bootstrap, *args)

    of_topic = ("--entity-type", "topics", "--entity-name", topic)
    changed = configs(
        "--alter", *of_topic, "--add-config", "retention.ms=1000,cleanup.policy=[compact,delete]"
    )
    described = configs("--describe", *of_topic)
    configs("--alter", *of_topic, "--delete-config", "retention.ms")
    of_default = ("--entity-type", "brokers", "--entity-default")
    configs("--alter", *of_default, "--add-config", "log.cleaner.threads=2")
    default = configs("--describe", *of_default)
    configs("--alter", *of_default, "--delete-config", "log.cleaner.threads")

    assert f"Completed updating config for topic {topic}." in changed
    assert (
        "retention.ms=1000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=1000}"
        in described
    )
    assert "cleanup.policy=compact,delete sensitive=false" in described
    assert (
        "log.cleaner.threads=2 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:" in default
    )


def test_console_producer_and_consumer_pass_records(tool: Tool, topic: str) -> None:
    reader = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    printing = (
        "--formatter-property",
        "print.key=true",
        "--formatter-property",
        "print.offset=true",
    )

    tool("ConsoleProducer", "--topic", topic, *reader, stdin="k1:v1\nk2:v2\nk3:v3\n")
    place = ("--topic", topic, "--partition", "0", "--offset", "1", "--max-messages", "2")
    read = tool("consumer.ConsoleConsumer", *place, *printing, "--timeout-ms", "20000")

    assert read.splitlines() == ["Offset:1\tk2\tv2", "Offset:2\tk3\tv3"]


def test_producer_performance_and_offset_shell_agree(
    tool: Tool, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(3)

    load = (
        "--topic",
        topic,
        "--num-records",
        "50000",
        "--record-size",
        "200",
        "--throughput",
        "-1",
    )
    report = tool("ProducerPerformance", *load)
    counted = tool("GetOffsetShell", "--topic", topic)

    assert report.startswith("50000 records sent")
    lines = [line.split(":") for line in counted.split()]
    assert [(name, partition) for name, partition, _ in lines] == [
        (topic, str(p)) for p in range(3)
    ]
    assert sum(int(end) for _, _, end in lines) == 50_000


def test_records_are_deleted_and_log_directories_described(
    tool: Tool, topic: str, tmp_path: Path
) -> None:
    tool("ConsoleProducer", "--topic", topic, stdin="a\nb\nc\n")
    wanted = tmp_path / "offsets.json"
    wanted.write_text(
        json.dumps({"partitions": [{"topic": topic, "partition": 0, "offset": 2}], "version": 1})
    )

    deleted = tool("DeleteRecordsCommand", "--offset-json-file", str(wanted))
    directories = tool("LogDirsCommand", "--describe", "--topic-list", topic)

    assert f"partition: {topic}-0\tlow_watermark: 2" in deleted
    (broker,) = json.loads(directories.splitlines()[-1])["brokers"]
    (partition,) = broker["logDirs"][0]["partitions"]
    assert partition["partition"] == f"{topic}-0"
    assert partition["size"] > 0


def test_leaders_are_elected_only_where_it_is_needed(tool: Tool, topic: str) -> None:
    def elect(kind: str, *args: str) -> str:
        return tool("LeaderElectionCommand", "--election-type", kind, *args)

    of_one = ("--topic", topic, "--partition", "0")
    needed = elect("preferred", "--all-topic-partitions")

    assert elect("preferred", *of_one).strip() == (
        f"Valid replica already elected for partitions {topic}-0"
    )
    assert elect("unclean", *of_one).strip() == (
        f"Valid replica already elected for partitions {topic}-0"
    )
    assert "Successfully" not in needed
    assert "Error" not in needed


def test_cluster_quorum_features_and_versions_are_described(bootstrap: str, tool: Tool) -> None:
    quorum = java_tool(
        "MetadataQuorumCommand", "--bootstrap-server", bootstrap, "describe", "--status"
    )
    replicas = java_tool(
        "MetadataQuorumCommand", "--bootstrap-server", bootstrap, "describe", "--replication"
    )
    features = java_tool("FeatureCommand", "--bootstrap-server", bootstrap, "describe")
    versions = tool("BrokerApiVersionsCommand")
    cluster = java_tool("ClusterTool", "cluster-id", "--bootstrap-server", bootstrap)
    endpoints = java_tool("ClusterTool", "list-endpoints", "--bootstrap-server", bootstrap)

    assert re.search(r"LeaderEpoch: +[1-9]", quorum)
    assert len(re.findall(r"\bLeader\b", replicas)) == 1
    assert re.search(r"metadata\.version +.*FinalizedVersionLevel: 4\.3-IV0", features)
    assert "Produce(0): 0 to 13 [usable: 13]" in versions
    assert "Fetch(1): 4 to 18 [usable: 18]" in versions
    assert re.search(r"Cluster ID: \S{22}\b", cluster)
    host, port = bootstrap.rsplit(":", 1)
    assert re.search(rf"{re.escape(host)} +{port} +null +unfenced +broker", endpoints)


def test_log_files_are_read_by_the_dump_tool(
    broker: Broker | None, tool: Tool, make_topic: Callable[..., str]
) -> None:
    if broker is None:
        pytest.skip("the files of a broker that is not ours are out of reach")
    topic = make_topic(segment_bytes=str(1024 * 1024))
    load = ("--num-records", "3000", "--record-size", "1000", "--throughput", "-1")
    codec = ("--command-property", "compression.type=lz4", "--command-property", "batch.size=4000")

    tool("ProducerPerformance", "--topic", topic, *load, *codec)
    folder = broker.data_dir / f"{topic}-0"
    logs, *indexes = (sorted(folder.glob(end)) for end in ("*.log", "*.index", "*.timeindex"))
    names = ",".join(str(file) for file in [*logs, *indexes[0], *indexes[1]])
    dumped = java_tool("DumpLogSegments", "--deep-iteration", "--files", names)
    verified = java_tool("DumpLogSegments", "--verify-index-only", "--files", names)

    # The segment that is being written need not have its indexes on disk yet.
    closed = [log.stem for log in logs[:-1]]
    assert len(closed) >= 2
    assert all({file.stem for file in index} >= set(closed) for index in indexes)
    offsets = [int(offset) for offset in re.findall(r"^\| offset: (\d+)", dumped, re.MULTILINE)]
    assert offsets == list(range(3_000))
    assert "isvalid: false" not in dumped
    assert "Mismatches" not in dumped + verified
    assert "Found" not in dumped + verified


def test_metadata_log_is_read_by_the_dump_tool(
    broker: Broker | None, make_topic: Callable[..., str]
) -> None:
    if broker is None:
        pytest.skip("the files of a broker that is not ours are out of reach")
    topic = make_topic(2, retention_ms="1000")

    log = broker.data_dir / "__cluster_metadata-0" / f"{0:020}.log"
    dumped = java_tool("DumpLogSegments", "--cluster-metadata-decoder", "--files", str(log))

    assert f'"type":"TOPIC_RECORD","version":0,"data":{{"name":"{topic}"' in dumped
    assert dumped.count('"type":"PARTITION_RECORD"') >= 2
    assert f'"resourceName":"{topic}","name":"retention.ms","value":"1000"' in dumped
    assert '"type":"REGISTER_BROKER_RECORD"' in dumped
