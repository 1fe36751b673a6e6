"""What an operator of several brokers types: Kafka's own tools against three nodes. Few, full tests: each starts Java."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.processes import Ledger, RealCluster, until
from support.kafka_jars import java_command, java_tool

pytestmark = pytest.mark.compat


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    cluster = RealCluster(tmp_path_factory.mktemp("three"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.destroy()


def tool(cluster: RealCluster, name: str, *args: str) -> str:
    return java_tool(name, "--bootstrap-server", cluster.bootstrap, *args, timeout=120)


def test_partitions_are_reassigned_and_their_preferred_leaders_elected(
    cluster: RealCluster, tmp_path: Path
) -> None:
    tool(cluster, "TopicCommand", "--create", "--topic", "moved", "--replica-assignment", "1:2")
    ledger = Ledger(cluster, "moved")
    ledger.write(100)
    plan = tmp_path / "plan.json"
    partitions = [{"topic": "moved", "partition": 0, "replicas": [3, 1]}]
    plan.write_text(json.dumps({"version": 1, "partitions": partitions}))
    file = ("--reassignment-json-file", str(plan))

    begun = tool(
        cluster, "reassign.ReassignPartitionsCommand", *file, "--execute", "--throttle", "50000000"
    )
    until(lambda: cluster.isr("moved") == (1, 3))
    ended = tool(cluster, "reassign.ReassignPartitionsCommand", *file, "--verify")
    elected = tool(
        cluster,
        *("LeaderElectionCommand", "--election-type", "preferred"),
        *("--topic", "moved", "--partition", "0"),
    )
    described = tool(cluster, "TopicCommand", "--describe", "--topic", "moved")

    assert "Successfully started partition reassignment for moved-0" in begun
    assert "Reassignment of partition moved-0 is completed." in ended
    assert "Clearing topic-level throttles" in ended
    assert re.search(r"Partition: 0\s+Leader: 3\s+Replicas: 3,1\s+Isr: [13],[13]\s", described)
    # It leads already since the move has ended, or does now.
    assert re.search(r"completed .*moved-0|Valid replica already elected .*moved-0", elected)
    ledger.check()


def test_the_quorum_its_features_and_the_directories_are_described(cluster: RealCluster) -> None:
    cluster.create_topic("sized", partitions=3)

    status = tool(cluster, "MetadataQuorumCommand", "describe", "--status")
    replication = tool(cluster, "MetadataQuorumCommand", "describe", "--replication")
    features = tool(cluster, "FeatureCommand", "describe")
    directories = tool(cluster, "LogDirsCommand", "--describe", "--topic-list", "sized")

    assert re.search(r"LeaderId:\s+[123]\b", status)
    assert re.search(r"MaxFollowerLag:\s+\d+", status)
    assert len(re.findall(r"^[123]\s.*\s(?:Leader|Follower)\s*$", replication, re.MULTILINE)) == 3
    assert re.search(r"Feature: metadata\.version\s", features)
    answer = json.loads(directories.splitlines()[-1])
    found = {
        broker["broker"]: {part["partition"] for part in broker["logDirs"][0]["partitions"]}
        for broker in answer["brokers"]
    }
    assert found == {each: {"sized-0", "sized-1", "sized-2"} for each in (1, 2, 3)}


def test_replicas_are_compared_and_found_equal(cluster: RealCluster) -> None:
    """The tool goes on for ever and reports from time to time."""
    cluster.create_topic("compared", partitions=3)
    ledger = Ledger(cluster, "compared")
    ledger.write(100)
    arguments = ("--broker-list", cluster.bootstrap, "--topics-include", "compared")
    quick = ("--report-interval-ms", "500", "--max-wait-ms", "100")

    command = java_command("org.apache.kafka.tools.ReplicaVerificationTool", *arguments, *quick)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        report = next(line for line in process.stdout if "max lag is" in line)
        process.kill()

    assert "max lag is 0 for partition" in report
