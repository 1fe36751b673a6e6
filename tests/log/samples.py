"""Batches, settings and logs for the tests of the log: short to write, with values that say what they are."""

import struct
from dataclasses import replace

from klamm.base.settings.topic import TopicSettings
from klamm.log.disk import Disk
from klamm.log.log import Log
from klamm.log.results import Appended, Origin
from klamm.protocol.records.batch import BatchHeader, Codec, batches, stamp_crc
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record, read_records

NOW = 1_700_000_000_000
DIRECTORY = "/data/orders-0"
SETTINGS = TopicSettings()


def settings(**changes: object) -> TopicSettings:
    return replace(SETTINGS, **changes)  # type: ignore[arg-type]


def a_batch(
    *values: bytes,
    at: int = NOW,
    producer: tuple[int, int, int] = (-1, -1, -1),
    transactional: bool = False,
    codec: Codec = Codec.NONE,
    key: bytes | None = None,
) -> bytearray:
    """A batch as a client sends it; producer is (id, epoch, first sequence)."""
    producer_id, epoch, sequence = producer
    records = [Record(timestamp=at, key=key, value=value) for value in values or (b"v",)]
    return build_batch(
        records,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
        codec=codec,
    )


def a_marker(
    producer_id: int, epoch: int = 0, *, abort: bool, coordinator_epoch: int = 0
) -> bytearray:
    """The control batch that ends a transaction."""
    record = Record(
        timestamp=NOW,
        key=struct.pack(">hh", 0, 0 if abort else 1),
        value=struct.pack(">hi", 0, coordinator_epoch),
    )
    return build_batch(
        [record], producer_id=producer_id, producer_epoch=epoch, transactional=True, control=True
    )


def with_field(
    batch: bytearray, position: int, form: str, value: int, *, crc: bool = True
) -> bytearray:
    """The batch with one field of its header overwritten, under a right checksum unless told otherwise."""
    changed = bytearray(batch)
    struct.pack_into(form, changed, position, value)
    if crc:
        stamp_crc(changed, 0, len(changed))
    return changed


def a_log(disk: Disk, chosen: TopicSettings = SETTINGS, **options: object) -> Log:
    given = {"now": NOW, "clean": False} | options
    return Log.open(disk, DIRECTORY, chosen, **given)  # type: ignore[arg-type]


def append(log: Log, batch: bytearray, *, epoch: int = 0, now: int = NOW) -> Appended:
    return log.append(batch, leader_epoch=epoch, now=now)


def append_all(log: Log, *values: bytes, epoch: int = 0) -> None:
    """One batch per value."""
    for value in values:
        append(log, a_batch(value), epoch=epoch)


def end_transaction(
    log: Log, producer_id: int, epoch: int = 0, *, abort: bool, coordinator_epoch: int = 0
) -> Appended:
    marker = a_marker(producer_id, epoch, abort=abort, coordinator_epoch=coordinator_epoch)
    return log.append(marker, leader_epoch=0, now=NOW, origin=Origin.COORDINATOR)


def headers_of(log: Log, start: int | None = None) -> list[BatchHeader]:
    """Every batch of the log, in the order in which a consumer meets them."""
    found: list[BatchHeader] = []
    offset = log.start_offset if start is None else start
    while part := log.read(offset, 1 << 20, up_to=log.end_offset):
        for header, _ in batches(part.read(), partial_end=True):
            found.append(header)
            offset = header.last_offset + 1
    return found


def values_of(log: Log, start: int | None = None) -> dict[int, bytes | None]:
    """Offset -> value of every record from the offset on."""
    found: dict[int, bytes | None] = {}
    offset = log.start_offset if start is None else start
    while part := log.read(offset, 1 << 20, up_to=log.end_offset):
        for header, batch in batches(part.read(), partial_end=True):
            if not header.is_control:
                found |= {r.offset: r.value for r in read_records(batch)}
            offset = header.last_offset + 1
    return {at: value for at, value in found.items() if start is None or at >= start}


def flush(log: Log) -> None:
    planned = log.begin_flush()
    if planned is not None:
        planned.run()
        log.end_flush(planned)
