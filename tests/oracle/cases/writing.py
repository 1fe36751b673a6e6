"""Writing: what a leader takes, and with which error it refuses the rest."""

import struct
from typing import Any

from klamm.protocol.records.batch import Codec, stamp_crc
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from oracle.cases.case import FRESH, UNKNOWN_ID, Case, batch, case, create, produce, to_partition


def _changed(at: int, form: str, value: int, *, good_crc: bool = True) -> bytes:
    """A good batch of three records with one field of its header changed."""
    data = bytearray(batch(3))
    struct.pack_into(form, data, at, value)
    if good_crc:
        stamp_crc(data, 0, len(data))
    return bytes(data)


def _without_key() -> bytes:
    return bytes(build_batch([Record(timestamp=1, value=b"v")]))


_PRODUCER = {"producer_id": 5_000, "producer_epoch": 1}

# Not asked: null instead of a batch. Kafka never answers it.
_BATCHES: list[tuple[str, bytes]] = [
    ("one record", batch()),
    ("many records", batch(50)),
    *((f"a batch in {codec.name.lower()}", batch(20, codec=codec)) for codec in Codec),
    ("an empty batch", b""),
    ("two batches", batch() + batch()),
    ("half a batch", batch()[:40]),
    ("a batch and a half", batch() + batch()[:40]),
    ("a wrong CRC", _changed(57, ">i", 2, good_crc=False)),
    ("an old magic", _changed(16, ">b", 1)),
    ("an unknown magic", _changed(16, ">b", 5)),
    ("an unknown codec", _changed(21, ">h", 6)),
    ("a codec that does not fit", _changed(21, ">h", 1)),
    ("a count that is too large", _changed(57, ">i", 9)),
    ("a count that is too small", _changed(57, ">i", 2)),
    ("a negative count", _changed(57, ">i", -1)),
    ("a last offset that does not fit", _changed(23, ">i", 7)),
    ("a base offset other than zero", batch(3, base_offset=42)),
    ("a control batch", _changed(21, ">h", 32)),
    (
        "a transactional batch without a transaction",
        batch(transactional=True, base_sequence=0, **_PRODUCER),
    ),
    ("log append time claimed by the client", _changed(21, ">h", 8)),
    ("a sequence without a producer", _changed(53, ">i", 5)),
    ("a first batch that does not start at sequence zero", batch(base_sequence=7, **_PRODUCER)),
    ("a negative producer epoch", batch(producer_id=1, producer_epoch=-1, base_sequence=0)),
    ("a negative timestamp", batch(first_timestamp=-5)),
    ("no timestamp", batch(first_timestamp=-1)),
    ("a timestamp far ahead", batch(first_timestamp=99_999_999_999_999)),
]


def _sequence(first: int, count: int = 2, *, epoch: int = 1) -> bytes:
    return batch(count, producer_id=5_000, producer_epoch=epoch, base_sequence=first)


_SO_FAR = [create(), produce(_sequence(0)), produce(_sequence(2))]

_SEQUENCES: list[tuple[str, bytes]] = [
    ("the next sequence", _sequence(4)),
    ("the last batch again", _sequence(2)),
    ("the batch before the last again", _sequence(0)),
    ("a gap", _sequence(6)),
    ("an overlap", _sequence(3)),
    ("an old epoch", _sequence(4, epoch=0)),
    ("a new epoch from zero", _sequence(0, epoch=2)),
    ("a new epoch not from zero", _sequence(4, epoch=2)),
    ("the last batch again, with another count", _sequence(2, 3)),
]

_TO: list[tuple[str, dict[str, Any]]] = [
    ("an unknown partition", to_partition(batch(), "full", partition=7)),
    ("a negative partition", to_partition(batch(), "full", partition=-1)),
    ("acks=1", to_partition(batch(), FRESH, acks=1)),
    ("acks=2", to_partition(batch(), FRESH, acks=2)),
    ("acks=-2", to_partition(batch(), FRESH, acks=-2)),
    ("a batch that is too large", to_partition(batch(1, size=500), "small")),
    ("a key that is missing", to_partition(_without_key(), "compacted")),
    ("a topic that stamps the time", to_partition(batch(), "append-time")),
    ("a transactional id without a transaction", to_partition(batch(), FRESH, transactional_id="t")),
    ("no topics", {"acks": -1, "timeout_ms": 1_000, "topic_data": []}),
    ("no partitions", {"acks": -1, "timeout_ms": 1_000, "topic_data": [
        {"name": "full", "topic_id": UNKNOWN_ID, "partition_data": []}]}),
]  # fmt: skip


def _to_nobody(**names: Any) -> dict[str, Any]:
    topic = {"partition_data": [{"index": 0, "records": batch()}], **names}
    return {"acks": -1, "timeout_ms": 1_000, "topic_data": [topic]}


_INIT: list[tuple[str, dict[str, Any]]] = [
    ("a new producer", {"transactional_id": None, "transaction_timeout_ms": 60_000}),
    ("no timeout", {"transactional_id": None, "transaction_timeout_ms": 0}),
    ("a negative timeout", {"transactional_id": None, "transaction_timeout_ms": -1}),
]
_INIT_AGAIN: list[tuple[str, dict[str, Any]]] = [
    ("a known producer", {"producer_id": 4_000, "producer_epoch": 1}),
    ("an id without an epoch", {"producer_id": 4_000, "producer_epoch": -1}),
    ("an epoch without an id", {"producer_id": -1, "producer_epoch": 3}),
    ("the last epoch", {"producer_id": 4_000, "producer_epoch": 32_767}),
]
_NEW_PRODUCER = {"transactional_id": None, "transaction_timeout_ms": 60_000}

CASES: list[Case] = [
    *(case("produce", name, to_partition(data), before=[create()]) for name, data in _BATCHES),
    *(case("produce", name, to_partition(data), before=_SO_FAR) for name, data in _SEQUENCES),
    *(case("produce", name, values, before=[create()]) for name, values in _TO),
    case("produce", "an unknown topic", _to_nobody(name="nobody"), until=12),
    case("produce", "a bad name", _to_nobody(name="a b"), until=12),
    case("produce", "an unknown id", _to_nobody(topic_id=UNKNOWN_ID), since=13),
    *(case("init_producer_id", name, values) for name, values in _INIT),
    *(case("init_producer_id", n, {**_NEW_PRODUCER, **v}, since=3) for n, v in _INIT_AGAIN),
    case(
        "init_producer_id", "an empty transactional id", {**_NEW_PRODUCER, "transactional_id": ""}
    ),
]
