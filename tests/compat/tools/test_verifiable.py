"""VerifiableProducer and VerifiableConsumer, which print a line of JSON for each thing they see: what went in comes out once."""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from compat.conftest import MakeTopic
from support.kafka_jars import java_tool

pytestmark = pytest.mark.compat

Events = list[dict[str, Any]]
Tool = Callable[..., Events]
RECORDS = 400


@pytest.fixture
def tool(bootstrap: str) -> Tool:
    """Runs a tool against the broker under test and gives the events that it printed."""

    def run(name: str, *args: str) -> Events:
        printed = java_tool(name, "--bootstrap-server", bootstrap, *args)
        return [json.loads(line) for line in printed.splitlines() if line.startswith("{")]

    return run


def named(events: Events, name: str) -> Events:
    return [event for event in events if event["name"] == name]


def consumed(events: Events) -> set[tuple[int, int]]:
    """Partition and offset of every record, none of which may come twice."""
    runs = [run for event in named(events, "records_consumed") for run in event["partitions"]]
    places = [
        (run["partition"], offset)
        for run in runs
        for offset in range(run["minOffset"], run["maxOffset"] + 1)
    ]
    assert len(places) == len(set(places)) == sum(run["count"] for run in runs)
    return set(places)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_what_was_acknowledged_is_read_once_by_two_consumers_in_turn(
    tool: Tool, make_topic: MakeTopic, protocol: str
) -> None:
    topic = make_topic(2)
    group = f"verifiable-{uuid4().hex[:12]}"
    reading = (
        "--topic", topic, "--group-id", group, "--group-protocol", protocol,
        "--reset-policy", "earliest", "--max-messages", str(RECORDS // 2),
    )  # fmt: skip

    produced = tool(
        "VerifiableProducer", "--topic", topic, "--max-messages", str(RECORDS), "--acks", "-1",
        "--repeating-keys", "10",
    )  # fmt: skip
    first = tool("VerifiableConsumer", *reading)
    second = tool("VerifiableConsumer", *reading)

    assert not named(produced, "producer_send_error")
    acknowledged = {
        (event["partition"], event["offset"]) for event in named(produced, "producer_send_success")
    }
    assert len(acknowledged) == RECORDS
    for events in (first, second):
        (assigned,) = named(events, "partitions_assigned")
        assert [each["partition"] for each in assigned["partitions"]] == [0, 1]
        assert all(event["success"] for event in named(events, "offsets_committed"))
    assert not consumed(first) & consumed(second)
    assert consumed(first) | consumed(second) == acknowledged
