"""Keeps the last of what was said, as bytes; they are read when somebody asks."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from itertools import count
from struct import Struct
from typing import Any

from klamm.base.errors import CorruptFrame, code_of
from klamm.metadata.image import ClusterImage
from klamm.protocol.apis import APIS
from klamm.protocol.compile import decoder
from klamm.server.dispatch import read_client_id
from klamm.server.network.connection import Connection
from klamm.server.world.ports import Buffer
from klamm.testing.kit.faults.frames import partitions_in
from klamm.testing.kit.transcript.exchange import Exchange, Transcript
from klamm.testing.kit.transcript.frames import FrameStream, Kept

_MOST_BYTES = 16 * 1024 * 1024
_MOST = 20_000
_HEADER = Struct(">hhih")
_MOST_OPEN = 1000


class Said:
    """A request, and its answer when it comes."""

    __slots__ = ("answer", "answered_at", "at", "connection", "fault", "request")

    def __init__(self, connection: int, request: Kept) -> None:
        self.at = time.time()
        self.connection = connection
        self.request = request
        self.answer: Kept | None = None
        self.answered_at = 0.0
        self.fault: str | None = None

    @property
    def correlation_id(self) -> int:
        return int.from_bytes(self.request.data[4:8], "big")


class Line:
    """One connection. Answers come in the order of the requests; acks=0 asks for none."""

    def __init__(self, recorder: Recorder, number: int) -> None:
        self._recorder = recorder
        self._number = number
        # Bounded: acks=0 never hears an answer.
        self._open: deque[Said] = deque(maxlen=_MOST_OPEN)
        self._in = FrameStream(self._asked)
        self._out = FrameStream(self._answered)

    def came(self, data: Buffer) -> None:
        self._in.feed(data)

    def went(self, data: Buffer, unseen: int = 0) -> None:
        self._out.feed(data, unseen)

    def closed(self) -> None:
        self._open.clear()

    def struck(self, correlation_id: int, fault: str) -> None:
        for said in self._open:
            if said.correlation_id == correlation_id & 0xFFFFFFFF:
                said.fault = fault

    def _asked(self, frame: Kept) -> None:
        if len(frame.data) >= _HEADER.size:
            said = Said(self._number, frame)
            self._open.append(said)
            self._recorder.keep(said)

    def _answered(self, frame: Kept) -> None:
        correlation_id = int.from_bytes(frame.data[:4], "big")
        while self._open:
            said = self._open.popleft()
            if said.correlation_id == correlation_id:
                said.answer, said.answered_at = frame, time.time()
                self._recorder.grow(len(frame.data))
                return


class Recorder:
    def __init__(self) -> None:
        self._said: deque[Said] = deque()
        self._bytes = 0
        self._numbers = count(1)
        self._lines: dict[Connection, Line] = {}

    def opened(self, connection: Connection) -> Line:
        line = self._lines[connection] = Line(self, next(self._numbers))
        return line

    def closed(self, connection: Connection) -> None:
        self._lines.pop(connection, None)

    def struck(self, connection: Connection, correlation_id: int, fault: str) -> None:
        """A fault has hit this request."""
        if (line := self._lines.get(connection)) is not None:
            line.struck(correlation_id, fault)

    def keep(self, said: Said) -> None:
        self._said.append(said)
        self.grow(len(said.request.data))

    def grow(self, size: int) -> None:
        self._bytes += size
        while self._bytes > _MOST_BYTES or len(self._said) > _MOST:
            oldest = self._said.popleft()
            self._bytes -= len(oldest.request.data)
            self._bytes -= 0 if oldest.answer is None else len(oldest.answer.data)

    def forget(self) -> None:
        self._said.clear()
        self._bytes = 0

    def transcript(self, image: ClusterImage) -> Transcript:
        told = (_exchange(said, image) for said in self._said)
        return Transcript(each for each in told if each is not None)


def _exchange(said: Said, image: ClusterImage) -> Exchange | None:
    data = memoryview(said.request.data)
    key, version, _, client_size = _HEADER.unpack_from(data)
    api = APIS.get(key)
    if api is None or not api.lowest <= version <= api.highest:
        return None
    try:
        client_id, body_at = read_client_id(
            data, client_size, api.request_header_version(version) == 2
        )
    except CorruptFrame:
        return None
    request = _read(api.request, version, said.request, body_at)
    answer = None
    if said.answer is not None:
        body_at = 4 + (api.response_header_version(version) == 1)
        answer = _read(api.response, version, said.answer, body_at)
    return Exchange(
        at=said.at,
        connection=said.connection,
        client_id=client_id,
        api=api.title,
        version=version,
        partitions=_partitions(request, image),
        errors=tuple(dict.fromkeys(_errors(answer))),
        request_bytes=said.request.size,
        answer_bytes=0 if said.answer is None else said.answer.size,
        milliseconds=None if said.answer is None else (said.answered_at - said.at) * 1000,
        fault=said.fault,
    )


def _read(cls: type[Any], version: int, frame: Kept, at: int) -> Any:
    if not frame.is_whole:
        return None
    try:
        return decoder(cls, version)(frame.data, at)[0]
    except CorruptFrame:
        return None


def _partitions(request: Any, image: ClusterImage) -> tuple[str, ...]:
    if request is None:
        return ()
    named = list(partitions_in(request, image))
    whole = {each.topic for each in named if each.partition is not None}
    return tuple(
        dict.fromkeys(
            each.topic if each.partition is None else f"{each.topic}-{each.partition}"
            for each in named
            if each.partition is not None or each.topic not in whole
        )
    )


def _errors(message: Any) -> Iterator[str]:
    """The names of all error codes in an answer."""
    if message is None:
        return
    for field in message.SCHEMA.fields:
        value = getattr(message, field.name)
        if field.name.endswith("error_code") and isinstance(value, int) and value:
            yield code_of(value).name
        elif field.type.name == "array" and field.type.element.struct is not None:
            for each in value or ():
                yield from _errors(each)
