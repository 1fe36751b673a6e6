"""The bytes of a follower's fetch and of its usual answer, v15 to v18, without message objects in between.

A follower with small batches spends most of its time here. What is unusual (errors, divergence, anything in tags) is left to the
compiled codecs: `read_answer` gives None for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct, error
from typing import NamedTuple

from klamm.base.ids import Uuid

VERSIONS = range(15, 19)

# Longest wait, least and most bytes, isolation level, session id and epoch.
_HEAD = Struct(">iiibii").pack
# Index, leader epoch, offset, last epoch, log start, most bytes; no tags.
_ASKED = Struct(">iiqiqiB").pack
# No topics that are forgotten, no rack; one tag, number 1 of 13 bytes: replica id and epoch, which has no tags.
_TAIL = Struct(">BBBBBiqB").pack
# Throttle time, error, session id.
_ANSWER = Struct(">ihi").unpack_from
_ANSWER_SIZE = 10
# Index, error, high watermark, last stable offset, log start, count of aborted transactions, preferred replica.
_PART = Struct(">ihqqqBi").unpack_from
_PART_SIZE = 35
_UUID_SIZE = 16
_NONE, _EMPTY = 0, 1
_MORE = 0x80


class Question(NamedTuple):
    topic_id: Uuid
    partition: int
    leader_epoch: int
    offset: int
    last_epoch: int
    log_start: int


class Part(NamedTuple):
    """What came for one partition, which went well."""

    topic_id: bytes
    partition: int
    high_watermark: int
    log_start_offset: int
    records: memoryview


def write_request(
    out: bytearray,
    questions: Iterable[Question],
    *,
    max_wait_ms: int,
    min_bytes: int,
    max_bytes: int,
    max_partition_bytes: int,
    session: tuple[int, int],
    replica: tuple[int, int],
) -> None:
    """Of a request that forgets nothing."""
    out += _HEAD(max_wait_ms, min_bytes, max_bytes, 0, *session)
    topics: dict[Uuid, list[Question]] = {}
    for each in questions:
        topics.setdefault(each.topic_id, []).append(each)
    _write_count(out, len(topics))
    for topic_id, asked in topics.items():
        out += topic_id
        _write_count(out, len(asked))
        for _, index, leader_epoch, offset, last_epoch, log_start in asked:
            out += _ASKED(
                index, leader_epoch, offset, last_epoch, log_start, max_partition_bytes, 0
            )
        out.append(0)
    out += _TAIL(_EMPTY, _EMPTY, 1, 1, 13, *replica, 0)


def read_answer(data: memoryview, at: int) -> tuple[int, list[Part]] | None:
    """The session, and what came; None if there is anything that is not usual."""
    try:
        _, failed, session_id = _ANSWER(data, at)
        if failed:
            return None
        topics, at = _read_number(data, at + _ANSWER_SIZE)
        parts: list[Part] = []
        for _ in range(topics - 1):
            topic_id = bytes(data[at : at + _UUID_SIZE])
            count, at = _read_number(data, at + _UUID_SIZE)
            for _ in range(count - 1):
                index, failed, high_watermark, _, log_start, aborted, _ = _PART(data, at)
                if failed or aborted not in (_NONE, _EMPTY):
                    return None
                size, at = _read_number(data, at + _PART_SIZE)
                end = at + size - 1 if size else at
                if data[end]:
                    return None
                parts.append(Part(topic_id, index, high_watermark, log_start, data[at:end]))
                at = end + 1
            if data[at]:
                return None
            at += 1
        return None if data[at] else (session_id, parts)
    except (IndexError, error):
        return None


def _write_count(out: bytearray, count: int) -> None:
    """Of a compact array: one more than it is."""
    count += 1
    while count >= _MORE:
        out.append(count & 0x7F | _MORE)
        count >>= 7
    out.append(count)


def _read_number(data: memoryview, at: int) -> tuple[int, int]:
    number = data[at]
    at += 1
    if number < _MORE:
        return number, at
    number &= 0x7F
    shift = 7
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < _MORE:
            return number, at
        shift += 7
