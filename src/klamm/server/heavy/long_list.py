"""A response whose one long list is encoded element by element, so that neither objects nor time pile up."""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.compile import encode
from klamm.protocol.declare import schema_of
from klamm.protocol.wire import put_uvarint
from klamm.server.call import EncodedBody, Message


class LongList:
    """`response` must have an empty list in the field; the elements come one by one through `add`."""

    def __init__(self, response: Message, field: str, version: int, *, max_bytes: int) -> None:
        self._response = response
        self._field = field
        self._version = version
        self._left = max_bytes
        self._is_flexible = schema_of(type(response)).is_flexible(version)
        self._elements: list[bytes] = []
        self._empty = encode(response, version)
        self._count_at: int | None = None

    def add(self, element: object) -> None:
        setattr(self._response, self._field, [element])
        alone = encode(self._response, self._version)
        if self._count_at is None:
            # The count is the first thing in which a list of one differs from an empty one.
            pairs = zip(self._empty, alone, strict=False)
            differs = next(at for at, (a, b) in enumerate(pairs) if a != b)
            self._count_at = differs if self._is_flexible else differs - 3
        start = self._count_at + self._count_size
        data = alone[start : len(alone) - (len(self._empty) - start)]
        self._left -= len(data)
        if self._left < 0:
            # Deviation: Kafka builds answers of any size, and may run out of memory over it.
            raise ApiError(ErrorCode.INVALID_REQUEST, "The answer would be larger than a request.")
        self._elements.append(data)

    def finish(self) -> EncodedBody:
        if self._count_at is None:
            return EncodedBody([self._empty])
        count = bytearray()
        if self._is_flexible:
            put_uvarint(count, len(self._elements) + 1)
        else:
            count += len(self._elements).to_bytes(4, "big")
        tail = self._empty[self._count_at + self._count_size :]
        return EncodedBody([self._empty[: self._count_at] + count, b"".join(self._elements), tail])

    @property
    def _count_size(self) -> int:
        return 1 if self._is_flexible else 4
