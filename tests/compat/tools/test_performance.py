"""ConsumerPerformance and EndToEndLatency: they read in groups, commit, and count what they read."""

import re
from collections.abc import Callable
from uuid import uuid4

import pytest

from compat.conftest import MakeTopic
from support.kafka_jars import java_tool

pytestmark = pytest.mark.compat

Tool = Callable[..., str]
RECORDS = 20_000


@pytest.fixture
def tool(bootstrap: str) -> Tool:
    def run(name: str, *args: str) -> str:
        return java_tool(name, "--bootstrap-server", bootstrap, *args)

    return run


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_every_record_that_was_written_is_counted(
    tool: Tool, make_topic: MakeTopic, protocol: str
) -> None:
    topic = make_topic(3)
    amount = ("--topic", topic, "--num-records", str(RECORDS))

    tool("ProducerPerformance", *amount, "--record-size", "100", "--throughput", "-1")
    printed = tool(
        "ConsumerPerformance", *amount, "--group", f"performance-{uuid4().hex[:12]}",
        "--command-property", f"group.protocol={protocol}",
    )  # fmt: skip

    heading, values = (line.split(", ") for line in printed.strip().splitlines()[-2:])
    report = dict(zip(heading, values, strict=True))
    assert report["data.consumed.in.nMsg"] == str(RECORDS)
    assert float(report["data.consumed.in.MB"]) == pytest.approx(RECORDS * 100 / 2**20, abs=0.01)


def test_latency_is_measured_from_end_to_end(tool: Tool, topic: str) -> None:
    printed = tool(
        "EndToEndLatency", "--topic", topic, "--num-records", "100", "--record-size", "64",
        "--producer-acks", "all",
    )  # fmt: skip

    found = re.search(r"Percentiles: 50th = (\d+), 99th = (\d+)", printed)
    assert found
    assert int(found[1]) <= int(found[2])
