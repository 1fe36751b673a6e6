"""Record batches: the reader of records, and a log that is asked to append them."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from fuzz.target import Target
from klamm.base.errors import ApiError, CorruptFrame
from klamm.base.settings.topic import TopicSettings
from klamm.log.log import Log
from klamm.protocol.records.batch import HEADER_SIZE, Codec, stamp_crc
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record, read_keys, read_records
from klamm.testing.disk import MemoryDisk

_NOW = 1_750_000_000_000
_MOST = 1 << 20
_SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"cleanup_policy": ("compact",)},
    {"compression_type": "zstd"},
    {"compression_type": "uncompressed"},
    {"message_timestamp_type": "LogAppendTime"},
    {"message_timestamp_before_max_ms": 1000},
)


def _read(data: bytes) -> None:
    for read in (read_records, read_keys):
        try:
            for _ in read(_sized(data), max_size=_MOST):
                pass
        except CorruptFrame:
            continue


def _append(data: bytes) -> None:
    """The first byte chooses the topic's settings; length and checksum are made right, or nothing would get far."""
    if not data:
        return
    batch = _sized(data[1:])
    log = _a_log(data[0] % len(_SETTINGS))
    end_offset = log.end_offset
    try:
        appended = log.append(batch, leader_epoch=0, now=_NOW)
    except ApiError:
        assert log.end_offset == end_offset
        return
    if not appended.duplicate:
        assert (appended.base_offset, appended.last_offset + 1) == (end_offset, log.end_offset)
    found = log.read(appended.base_offset, _MOST, up_to=log.end_offset)
    assert found is not None
    assert found.size > 0
    log.offset_for_timestamp(0)
    if log.size_bytes() > _MOST:
        _logs.cache_clear()


def _sized(data: bytes) -> bytearray:
    batch = bytearray(data)
    if len(batch) >= HEADER_SIZE:
        batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
        stamp_crc(batch, 0, len(batch))
    return batch


@cache
def _logs() -> list[Log]:
    disk = MemoryDisk()
    return [
        Log.open(
            disk, f"/t-{number}", TopicSettings(**settings), now=_NOW, clean=True, topic_id=None
        )
        for number, settings in enumerate(_SETTINGS)
    ]


def _a_log(number: int) -> Log:
    return _logs()[number]


def _batches() -> Sequence[bytes]:
    records = [
        Record(timestamp=_NOW + i, key=b"key%d" % i, value=b"value" * i, headers=[("h", b"x")])
        for i in range(5)
    ]
    plain = [bytes(build_batch(records, codec=codec)) for codec in Codec]
    numbered = build_batch(records, producer_id=7, producer_epoch=1, base_sequence=0)
    return [*plain, bytes(numbered), bytes(build_batch([Record(timestamp=_NOW)]))]


def _append_seeds() -> Sequence[bytes]:
    return [bytes([number]) + batch for number in range(len(_SETTINGS)) for batch in _batches()]


RECORDS = Target("records", _read, _batches)
APPENDS = Target("appends", _append, _append_seeds)
