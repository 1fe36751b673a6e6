"""Every limit against hostile clients is a setting, and a node does as it says."""

from pathlib import Path
from typing import Any

import pytest

from klamm.base.settings.broker import build_settings
from klamm.server.network.limits import Limits, limits_of
from klamm.server.world.machine import this_machine
from server.asking import a_fetch
from server.conftest import create_topic
from server.running_node import RunningNode
from server.wire_client import WireClient


def limits(settings: dict[str, object]) -> Limits:
    texts = {name: str(value) for name, value in settings.items()}
    return limits_of(build_settings(texts).network, this_machine())


@pytest.mark.parametrize(
    ("name", "value", "attribute", "limit"),
    [
        ("socket.request.max.bytes", 1000, "max_request_bytes", 1000),
        ("queued.max.request.bytes", 2000, "max_held_bytes", 2000),
        ("max.connections", 7, "max_connections", 7),
        ("max.connections.per.ip", 3, "max_connections_per_ip", 3),
        ("max.connections.per.ip.overrides", "::1:4", "connections_per_ip_overrides", {"::1": 4}),
        ("max.connection.creation.rate", 5, "max_connection_rate", 5),
        ("connections.max.idle.ms", 1500, "max_idle_seconds", 1.5),
        ("connections.max.idle.ms", -1, "max_idle_seconds", None),
        ("klamm.first.request.timeout.ms", 2500, "first_request_seconds", 2.5),
        ("klamm.progress.timeout.ms", 3500, "frame_seconds", 3.5),
    ],
)
def test_a_limit_is_what_its_setting_says(
    name: str, value: object, attribute: str, limit: Any
) -> None:
    assert getattr(limits({name: value}), attribute) == limit


def test_without_settings_limits_follow_the_machine() -> None:
    by_default = limits({})

    assert by_default.max_request_bytes == 100 << 20
    assert 0 < by_default.max_held_bytes <= 512 << 20
    assert 0 < by_default.max_connections < 1 << 31
    assert (by_default.first_request_seconds, by_default.frame_seconds) == (30, 60)


def test_a_node_closes_who_never_asks_anything(tmp_path: Path) -> None:
    settings: dict[str, object] = {"klamm.first.request.timeout.ms": 200}
    with RunningNode(tmp_path / "data", settings) as node, WireClient(node.address) as client:
        assert client.is_closed_by_the_broker()


def test_a_node_closes_who_stops_in_the_middle_of_a_request(tmp_path: Path) -> None:
    settings: dict[str, object] = {"klamm.progress.timeout.ms": 200}
    with RunningNode(tmp_path / "data", settings) as node, WireClient(node.address) as client:
        client.socket.sendall((1000).to_bytes(4, "big") + b"x" * 10)

        assert client.is_closed_by_the_broker()


def test_sessions_of_more_partitions_than_allowed_are_not_kept(tmp_path: Path) -> None:
    settings: dict[str, object] = {"klamm.max.fetch.session.partitions": 1}
    with RunningNode(tmp_path / "data", settings) as node, WireClient(node.address) as client:
        one, two = create_topic(client, "one"), create_topic(client, "two")

        sessions = [
            client.ask(a_fetch(topic, session_epoch=0), 12).session_id for topic in (one, two)
        ]

        assert [session > 0 for session in sessions] == [True, False]
