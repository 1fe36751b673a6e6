"""A whole node on a disk in memory: any request is answered or refused, and none makes a handler stumble."""

import asyncio
import logging
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from fuzz.samples import encoded_samples
from fuzz.target import Finding, Target
from klamm.base.errors import CorruptFrame
from klamm.base.principal import ANONYMOUS
from klamm.base.settings.load import load
from klamm.protocol.apis import Api
from klamm.protocol.compile import encode
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.headers import RequestHeader
from klamm.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.server.api_table import BROKER as SERVED
from klamm.server.api_table import ServedApi
from klamm.server.dispatch import Dispatcher
from klamm.server.network.connection import Connection
from klamm.server.network.listener import Listener
from klamm.server.network.outgoing import Answer
from klamm.server.node import Node
from klamm.server.world.real import real_world

# A node collects topics and records; after so many requests it makes room for a new one.
_REQUESTS_PER_NODE = 3_000


class _Listener:
    name = "PLAINTEXT"
    is_controller = is_advertised = False


class _Connection:
    """As much of a connection as handlers ask for."""

    def __init__(self) -> None:
        self.listener = cast(Listener, _Listener())
        self.local_host, self.local_port = "127.0.0.1", 9092
        self.peer_host = "127.0.0.1"
        self.principal = ANONYMOUS
        self.login = None
        self.on_lost: Any = None

    def finish(self, answer: Answer | None) -> None: ...
    def close(self) -> None: ...
    def refuse(self, why: str) -> None: ...
    def hold(self, cost: int) -> None: ...
    def may_park(self, cost: int) -> bool:
        return True

    def may_answer_long(self) -> bool:
        return True


class _Complaints(logging.Handler):
    """Whatever is logged as an error is a handler that stumbled."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.first: logging.LogRecord | None = None

    def emit(self, record: logging.LogRecord) -> None:
        self.first = self.first or record


class _Stage:
    """A node, its loop and its dispatcher; replaced when it is worn out."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._complaints = _Complaints()
        logging.getLogger("klamm").addHandler(self._complaints)
        self._open()

    def _open(self) -> None:
        self._left = _REQUESTS_PER_NODE
        self._data = tempfile.mkdtemp(prefix="klamm-fuzz-")
        settings = load(
            overrides=[
                "listeners=PLAINTEXT://127.0.0.1:0",
                f"log.dirs={self._data}",
                "log.cleaner.enable=false",
            ]
        )
        self._node = Node(settings, real_world())
        self._loop.run_until_complete(self._node.start())
        topics = [
            CreatableTopic(name=name, num_partitions=2, replication_factor=1)
            for name in ("name", "other")
        ]
        broker = self._node.broker
        self._loop.run_until_complete(
            broker.quorum.controller.ask(CreateTopicsRequest(topics=topics))
        )
        self._dispatch = Dispatcher.of_broker(broker).dispatch

    def end(self) -> None:
        self.close()
        self._loop.close()
        logging.getLogger("klamm").removeHandler(self._complaints)

    def close(self) -> None:
        self._loop.run_until_complete(self._node.stop())
        shutil.rmtree(self._data, ignore_errors=True)

    def ask(self, frame: bytes) -> None:
        if not self._left:
            self.close()
            self._open()
        self._left -= 1
        self._loop.run_until_complete(self._ask(frame))
        stumbled, self._complaints.first = self._complaints.first, None
        if stumbled is not None:
            raise Finding(stumbled.getMessage()) from (stumbled.exc_info or (None, None))[1]

    async def _ask(self, frame: bytes) -> None:
        connection = _Connection()
        try:
            self._dispatch(cast(Connection, connection), memoryview(bytearray(frame)))
        except CorruptFrame:
            return
        tasks = self._node.broker.tasks
        while tasks:
            await asyncio.wait(tasks)
        if connection.on_lost is not None:
            connection.on_lost()


@cache
def _stage() -> _Stage:
    return _Stage()


@cache
def _routes() -> list[tuple[Api, int]]:
    return [
        (served.api, version)
        for served in map(ServedApi, SERVED)
        for version in range(served.api.lowest, served.api.highest_stable + 1)
    ]


def _run(data: bytes) -> None:
    """The first two bytes choose API and version; the rest is the body."""
    if len(data) < 2:
        return
    routes = _routes()
    api, version = routes[int.from_bytes(data[:2], "big") % len(routes)]
    header = RequestHeader(
        request_api_key=api.key, request_api_version=version, correlation_id=1, client_id="fuzz"
    )
    _stage().ask(encode(header, api.request_header_version(version)) + data[2:])


def _seeds() -> Sequence[bytes]:
    seeds = []
    for number, (api, version) in enumerate(_routes()):
        samples = list(encoded_samples(api.request, version))
        if api.request is ProduceRequest:
            samples += [encode(_a_produce(*indexes), version) for indexes in ((0,), (0, 1))]
        seeds += [number.to_bytes(2, "big") + sample for sample in samples]
    return seeds


def _a_produce(*indexes: int) -> ProduceRequest:
    batch = bytes(build_batch([Record(timestamp=1_750_000_000_000, key=b"k", value=b"v")] * 3))
    partitions = [PartitionProduceData(index=index, records=batch) for index in indexes]
    return ProduceRequest(
        acks=-1,
        timeout_ms=1000,
        topic_data=[TopicProduceData(name="name", partition_data=partitions)],
    )


def _close() -> None:
    if _stage.cache_info().currsize:
        _stage().end()
        _stage.cache_clear()


BROKER = Target("broker", _run, _seeds, _close)
