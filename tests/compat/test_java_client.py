"""Apache Kafka's own client: java/ClientCheck.java runs all checks in one virtual machine, each is a test here."""

from pathlib import Path

import pytest

from support import checks, kafka_jars

pytestmark = pytest.mark.compat

PROGRAM = Path(__file__).parent / "java" / "ClientCheck.java"

CHECKS = [
    "producer writes with acks=0",
    "producer writes with acks=1",
    "producer writes with acks=all",
    "producer compresses with none",
    "producer compresses with gzip",
    "producer compresses with snappy",
    "producer compresses with lz4",
    "producer compresses with zstd",
    "producer keeps keys headers timestamps and nulls",
    "producer gets consecutive offsets",
    "producer is refused too large a batch",
    "producer sees partitions of a topic",
    "producer makes an unknown topic",
    "consumer starts at an offset",
    "consumer starts at a timestamp",
    "consumer seeks back and to the end",
    "consumer waits for new data",
    "consumer reads with read_committed",
    "consumer reads with read_uncommitted",
    "consumer is told of an offset out of range",
    "consumer reads batches larger than its limits",
    "consumer lists topics",
    "admin makes and describes a topic",
    "admin only validates a topic",
    "admin is refused bad topics",
    "admin deletes topics by name and by id",
    "admin adds partitions",
    "admin describes and alters topic configs",
    "admin describes broker configs",
    "admin deletes records",
    "admin lists offsets of every kind",
    "admin describes the cluster",
    "admin describes log directories",
    "admin describes features",
    "admin describes the quorum",
    "admin describes producers",
    "admin lists config resources",
]


@pytest.fixture(scope="module")
def outcomes(bootstrap: str) -> dict[str, str]:
    return checks.outcomes(kafka_jars.run_source(PROGRAM, bootstrap, timeout=180))


def test_program_ran_every_check(outcomes: dict[str, str]) -> None:
    assert list(outcomes) == CHECKS


@pytest.mark.parametrize("check", CHECKS)
def test_client_is_served(outcomes: dict[str, str], check: str) -> None:
    assert outcomes.get(check, "did not run") == "ok"
