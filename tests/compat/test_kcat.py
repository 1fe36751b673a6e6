"""kcat from Debian: an old librdkafka, on the command line."""

import json
import subprocess
from collections.abc import Callable

import pytest

from support import tools

pytestmark = pytest.mark.compat

Kcat = Callable[..., str]


@pytest.fixture
def kcat(bootstrap: str) -> Kcat:
    program = tools.require("kcat", why="apt-get install kcat brings it")

    def run(*args: str, stdin: str | None = None) -> str:
        return tools.run([program, "-q", "-b", bootstrap, *args], stdin=stdin)

    return run


def test_lines_are_written_and_read_back(kcat: Kcat, topic: str) -> None:
    kcat("-P", "-t", topic, "-K", ":", "-H", "colour=red", stdin="k1:v1\nk2:v2\n")

    read = kcat("-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-f", "%o %k=%s %h\n")

    assert read.splitlines() == ["0 k1=v1 colour=red", "1 k2=v2 colour=red"]


@pytest.mark.parametrize("acks", ["0", "1", "-1"])
def test_every_kind_of_acknowledgement_works(kcat: Kcat, topic: str, acks: str) -> None:
    kcat("-P", "-t", topic, "-X", f"acks={acks}", stdin="a\nb\n")

    assert kcat("-C", "-t", topic, "-o", "beginning", "-c", "2").split() == ["a", "b"]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_are_read_back(kcat: Kcat, topic: str, codec: str) -> None:
    lines = [f"line {n}" for n in range(1_000)]

    kcat("-P", "-t", topic, "-z", codec, "-X", "linger.ms=50", stdin="\n".join(lines))

    read = kcat("-C", "-t", topic, "-o", "beginning", "-e", "-X", "check.crcs=true")
    assert read.splitlines() == lines


def test_idempotent_producer_and_null_values(kcat: Kcat, topic: str) -> None:
    kcat("-P", "-t", topic, "-Z", "-K", ":", "-X", "enable.idempotence=true", stdin="gone:\n")

    (record,) = kcat("-C", "-t", topic, "-o", "beginning", "-e", "-J").splitlines()

    assert json.loads(record)["key"] == "gone"
    assert json.loads(record)["payload"] is None


def test_reading_starts_where_it_is_told(kcat: Kcat, topic: str) -> None:
    kcat("-P", "-t", topic, stdin="a\nb\nc\nd\n")

    def read(offset: str) -> list[str]:
        return kcat("-C", "-t", topic, "-p", "0", "-o", offset, "-e").split()

    assert read("2") == ["c", "d"]
    assert read("-1") == ["d"]
    assert read("s@1000") == ["a", "b", "c", "d"]
    assert read("end") == []


def test_timestamps_are_looked_up(kcat: Kcat, topic: str) -> None:
    kcat("-P", "-t", topic, stdin="a\nb\n")

    assert kcat("-Q", "-t", f"{topic}:0:1").strip() == f"{topic} [0] offset 0"
    assert kcat("-Q", "-t", f"{topic}:0:-1").strip() == f"{topic} [0] offset 2"


def test_waiting_reader_gets_what_is_written_later(kcat: Kcat, bootstrap: str, topic: str) -> None:
    waiting = ["-C", "-t", topic, "-o", "beginning", "-c", "1", "-X", "fetch.wait.max.ms=50000"]
    reader = subprocess.Popen(["kcat", "-q", "-b", bootstrap, *waiting], stdout=subprocess.PIPE)
    try:
        kcat("-P", "-t", topic, stdin="news\n")
        printed, _ = reader.communicate(timeout=30)
    finally:
        reader.kill()
        reader.wait()

    assert printed == b"news\n"


def test_cluster_and_topics_are_listed(kcat: Kcat, bootstrap: str, topic: str) -> None:
    listed = json.loads(kcat("-L", "-J", "-t", topic))

    assert [broker["name"] for broker in listed["brokers"]] == [bootstrap]
    assert listed["controllerid"] == listed["brokers"][0]["id"]
    (described,) = listed["topics"]
    assert described["topic"] == topic
    assert [p["partition"] for p in described["partitions"]] == [0]
