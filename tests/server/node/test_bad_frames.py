"""Bytes that are no requests: they close their own connection, with one line in the log, and disturb nobody else."""

import gc
import logging
import os
from collections.abc import Callable

import pytest

from klamm.protocol.messages.api_versions import ApiVersionsRequest
from klamm.protocol.messages.fetch import FetchRequest
from klamm.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from klamm.server.network.connection import Connection
from server.asking import NO_TOPIC, Topic, a_batch, a_fetch, a_produce, append, fetched
from server.conftest import Connect
from server.running_node import RunningNode
from server.wire_client import WireClient, request_frame
from support.patience import eventually

UNKNOWN_KEY = 9_999
NOT_SERVED = 58


def header(key: int, version: int) -> bytes:
    return key.to_bytes(2, "big") + version.to_bytes(2, "big") + b"\0\0\0\x07\0\x04wire\0"


def cut(frame: bytes) -> bytes:
    return frame[: len(frame) * 2 // 3]


FRAMES = {
    "nothing": b"",
    "half a header": b"\0\x01\0\x04\0",
    "an unknown api": header(UNKNOWN_KEY, 0),
    "a negative api": b"\xff\xff" + header(0, 0)[2:],
    "an api of controllers": header(NOT_SERVED, 0),
    "a version of the future": header(1, 99),
    "a version of the past": header(1, 3) + bytes(50),
    "a negative version": b"\0\x01\xff\xff" + header(0, 0)[4:],
    "a client id longer than the frame": b"\0\x03\0\x01\0\0\0\x07\x7f\xffwire",
    "a client id of less than nothing": b"\0\x03\0\x01\0\0\0\x07\xff\xfewire",
    "a client id that is no text": b"\0\x03\0\x01\0\0\0\x07\0\x02\xff\xfe" + bytes(9),
    "half a metadata request": cut(
        request_frame(MetadataRequest(topics=[MetadataRequestTopic(name="t" * 90)]), 9)
    ),
    "half a fetch": cut(request_frame(a_fetch(NO_TOPIC), 12)),
    "half a produce": cut(request_frame(a_produce(NO_TOPIC, a_batch(b"x" * 100)), 9)),
    "a fetch of two billion topics": request_frame(FetchRequest(), 4)[:-4] + b"\x7f\xff\xff\xff",
    "random bytes": bytes(range(1, 200)),
    "text": b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
}


@pytest.fixture
def complaints(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], list[str]]:
    """The warnings so far. However many there are: none is left out to spare the disk."""
    monkeypatch.setattr("klamm.server.network.complaints._SECONDS", 0.0)
    caplog.set_level(logging.WARNING)

    def so_far() -> list[str]:
        messages = [record.getMessage() for record in caplog.records]
        return [message for message in messages if not message.startswith("left out")]

    return so_far


@pytest.mark.parametrize("what", FRAMES)
def test_a_bad_frame_closes_its_own_connection_and_leaves_one_line(
    connect: Connect,
    topic: Topic,
    what: str,
    complaints: Callable[[], list[str]],
    node: RunningNode,
) -> None:
    bad, good = connect(), connect()
    append(good, topic, b"before")

    bad.send_frame(FRAMES[what])

    assert bad.is_closed_by_the_broker()
    assert append(good, topic, b"after") == 1
    (line,) = complaints()
    assert f"127.0.0.1:{bad.local_port}" in line


@pytest.mark.parametrize("size", [-1, -(2**31), 104_857_601, 2**31 - 1])
def test_a_size_that_no_frame_may_have_closes_at_once(
    connect: Connect, size: int, complaints: Callable[[], list[str]], node: RunningNode
) -> None:
    bad = connect()

    bad.socket.sendall(size.to_bytes(4, "big", signed=True))

    assert bad.is_closed_by_the_broker()
    assert len(complaints()) == 1


def test_answers_before_a_bad_frame_are_still_sent(connect: Connect, topic: Topic) -> None:
    client = connect()
    append(client, topic, b"kept")
    good = request_frame(a_fetch(topic), 12)
    bad = FRAMES["an unknown api"]

    client.socket.sendall(
        b"".join(len(frame).to_bytes(4, "big") + frame for frame in (good, good, bad, good))
    )

    assert client.receive_frame() == client.receive_frame()
    assert client.is_closed_by_the_broker()


def test_a_connection_without_a_word_is_nobodys_problem(
    connect: Connect, complaints: Callable[[], list[str]], node: RunningNode
) -> None:
    for _ in range(5):
        connect().close()

    assert connect().ask(MetadataRequest(topics=[])).brokers
    assert complaints() == []


def test_a_client_that_leaves_in_the_middle_of_a_frame_is_forgotten(
    connect: Connect, topic: Topic, complaints: Callable[[], list[str]], node: RunningNode
) -> None:
    whole = request_frame(a_produce(topic, a_batch(b"x" * 500_000)), 9)
    for part in (2, 4, 100, 300_000):
        client = connect()
        client.socket.sendall((len(whole).to_bytes(4, "big") + whole)[:part])
        client.close()

    assert append(connect(), topic, b"x") == 0
    assert complaints() == []


def what_is_held() -> tuple[int, int]:
    """Open files, and connections that somebody still refers to."""
    connections = sum(isinstance(each, Connection) for each in gc.get_objects())
    return len(os.listdir("/proc/self/fd")), connections


def test_connections_that_come_and_go_leave_nothing_behind(
    connect: Connect, topic: Topic, node: RunningNode, address: str
) -> None:
    def visit() -> None:
        with WireClient(address) as client:
            client.ask(ApiVersionsRequest(client_software_name="a", client_software_version="1"))
            append(client, topic, b"x")
            fetched(client, topic)

    visit()
    before = what_is_held()

    for _ in range(200):
        visit()

    def look() -> None:
        files, connections = what_is_held()
        assert files <= before[0]
        assert connections <= before[1]

    eventually(look)
