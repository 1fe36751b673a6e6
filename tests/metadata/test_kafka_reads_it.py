"""Apache Kafka itself reads the metadata log and the snapshots that klamm writes."""

import asyncio
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from klamm.base.settings.broker import build_settings
from klamm.metadata.image import Endpoint
from klamm.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from klamm.server.broker_lifecycle import BrokerLifecycle
from klamm.server.loops.joining import controller_request, register_controller
from klamm.server.loops.metadata_quorum import MetadataQuorum
from klamm.server.storage import DataDirectories
from klamm.server.world.real import real_world
from klamm.testing.clock import ManualClock
from support.kafka_jars import java_tool

pytestmark = pytest.mark.oracle


async def _live(data: Path, *, topic: str) -> None:
    """One life of a node: it starts, creates a topic, and stops."""
    settings = build_settings(
        {"log.dirs": str(data), "metadata.log.max.record.bytes.between.snapshots": "1000"}
    )
    clock, chance = ManualClock(1_700_000_000_000), random.Random(len(topic))
    world = replace(real_world(), clock=clock, chance=chance)
    with DataDirectories.open(world, settings) as directories:
        quorum = MetadataQuorum(world, settings, directories=directories)
        await quorum.start()
        known = controller_request(directories, endpoints=[], chance=chance)
        await register_controller(quorum, known)
        broker = BrokerLifecycle(
            world,
            settings,
            directories=directories,
            quorum=quorum,
            endpoints=[Endpoint("PLAINTEXT", "localhost", 9092)],
        )
        await broker.register()
        await broker.unfence()
        config = CreatableTopicConfig(name="retention.ms", value="5")
        new = CreatableTopic(name=topic, num_partitions=2, replication_factor=1, configs=[config])
        request = CreateTopicsRequest(topics=[new])
        await quorum.controller.ask(request)
        await broker.leave()
        await quorum.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("data")
    for topic in ("first", "second"):
        asyncio.run(_live(data, topic=topic))
    return data / "__cluster_metadata-0"


def _payloads(file: Path) -> list[dict]:
    printed = java_tool("DumpLogSegments", "--cluster-metadata-decoder", "--files", str(file))
    assert "isvalid: false" not in printed
    lines = (line.partition("payload: ")[2] for line in printed.splitlines())
    return [json.loads(line) for line in lines if line]


def test_every_record_of_the_log_has_the_type_and_content_that_was_meant(folder):
    payloads = [each for file in sorted(folder.glob("*.log")) for each in _payloads(file)]

    kinds = [each["type"] for each in payloads]
    assert kinds[:12] == [
        "BEGIN_TRANSACTION_RECORD",
        *["FEATURE_LEVEL_RECORD"] * 6,
        "CONFIG_RECORD",
        "END_TRANSACTION_RECORD",
        "REGISTER_CONTROLLER_RECORD",
        "REGISTER_BROKER_RECORD",
        "BROKER_REGISTRATION_CHANGE_RECORD",
    ]
    topics = [each["data"]["name"] for each in payloads if each["type"] == "TOPIC_RECORD"]
    assert topics == ["first", "second"]
    partitions = [each for each in payloads if each["type"] == "PARTITION_RECORD"]
    assert [each["version"] for each in partitions] == [2] * 4
    assert partitions[0]["data"]["isr"] == [1]
    assert "PARTITION_CHANGE_RECORD" in kinds


def test_every_snapshot_is_whole(folder):
    snapshots = sorted(folder.glob("*.checkpoint"))

    assert snapshots
    payloads = _payloads(snapshots[-1])
    assert payloads[0]["data"] == {"name": "metadata.version", "featureLevel": 30}
    names = [each["data"]["name"] for each in payloads if each["type"] == "TOPIC_RECORD"]
    assert names[0] == "first"
