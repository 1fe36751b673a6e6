"""`klamm log dump`: each file as rows that say what stands in it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path

from klamm.base.errors import CorruptFrame
from klamm.cli.log import files
from klamm.cli.log.files import Batch
from klamm.cli.output import Json, Row
from klamm.log.index import offset_index, time_index, txn_index
from klamm.log.state import producer_snapshot
from klamm.log.state.epochs import LeaderEpochs
from klamm.protocol.records.batch import check_crc
from klamm.protocol.records.control import (
    ControlType,
    read_control_messages,
    read_end_marker,
    type_of,
)
from klamm.protocol.records.reader import Record, read_records


def dump(path: Path, *, records: bool) -> Iterator[Row]:
    """CorruptFrame or ValueError where the file stops making sense; the rows before that are given."""
    data = files.contents(path)
    if path.suffix in (files.LOG, files.SNAPSHOT):
        for batch in files.walk(data):
            yield from record_rows(batch) if records else [batch_row(batch)]
    elif path.suffix in _BINARY:
        yield from _BINARY[path.suffix](data, files.base_offset_of(path))
    else:
        yield from _text_rows(path.name, bytes(data).decode())


def batch_row(batch: Batch) -> Row:
    header = batch.header
    return {
        "position": batch.position,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "records": header.count,
        "size": header.size,
        "leader_epoch": header.leader_epoch,
        "codec": header.codec.name.lower(),
        "max_timestamp": header.max_timestamp,
        "timestamp_type": "append" if header.is_log_append_time else "create",
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
        "delete_horizon": header.delete_horizon,
        "crc": header.crc,
        "crc_ok": check_crc(batch.data),
    }


def record_rows(batch: Batch) -> Iterator[Row]:
    if batch.header.is_control:
        yield from _control_rows(batch)
        return
    for record in read_records(batch.data):
        yield {
            **_place(batch, record),
            "key": _readable(record.key),
            "value": _readable(record.value),
            "headers": [{"key": key, "value": _readable(value)} for key, value in record.headers],
        }


def _control_rows(batch: Batch) -> Iterator[Row]:
    messages = read_control_messages(batch.data)
    for record in read_records(batch.data):
        kind = type_of(record)
        facts: dict[str, Json] = {"control": "unknown" if kind is None else kind.name.lower()}
        if kind in (ControlType.ABORT, ControlType.COMMIT):
            marker = read_end_marker(batch.data)
            facts["producer_id"] = batch.header.producer_id
            facts["producer_epoch"] = batch.header.producer_epoch
            facts["coordinator_epoch"] = marker.coordinator_epoch if marker else None
        elif kind is not None:
            facts["message"] = repr(next(messages))
        yield {**_place(batch, record), **facts}


def _place(batch: Batch, record: Record) -> dict[str, Json]:
    return {
        "batch": batch.header.base_offset,
        "offset": record.offset,
        "timestamp": record.timestamp,
    }


def _readable(data: bytes | None) -> Json:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}


def _offset_index_rows(data: memoryview, base: int) -> Iterator[Row]:
    for offset, position in files.index_entries(data, offset_index.ENTRY):
        yield {"offset": base + offset, "position": position}


def _time_index_rows(data: memoryview, base: int) -> Iterator[Row]:
    for timestamp, offset in files.index_entries(data, time_index.ENTRY):
        yield {"timestamp": timestamp, "offset": base + offset}


def _txn_index_rows(data: memoryview, base: int) -> Iterator[Row]:
    for aborted in txn_index.parse(bytes(data)):
        yield {**aborted._asdict()}


def _producer_rows(data: memoryview, base: int) -> Iterator[Row]:
    states = producer_snapshot.parse(bytes(data))
    if states is None:
        raise CorruptFrame("it is not a whole producer snapshot, or its checksum is wrong")
    for state in states:
        last = state.batches[-1] if state.batches else None
        yield {
            "producer_id": state.producer_id,
            "producer_epoch": state.epoch,
            "last_sequence": last.last_sequence if last else None,
            "last_offset": last.last_offset if last else None,
            "last_timestamp": state.last_timestamp,
            "coordinator_epoch": state.coordinator_epoch,
            "transaction_first_offset": state.txn_first_offset,
        }


_BINARY: dict[str, Callable[[memoryview, int], Iterator[Row]]] = {
    files.INDEX: _offset_index_rows,
    files.TIME_INDEX: _time_index_rows,
    files.TXN_INDEX: _txn_index_rows,
    files.PRODUCERS: _producer_rows,
}


def _text_rows(name: str, text: str) -> Iterator[Row]:
    if name == files.EPOCHS:
        for epoch in LeaderEpochs.parse(text).entries:
            yield {**epoch._asdict()}
    elif name in files.OFFSET_CHECKPOINTS:
        # Two lines of version and count; the file is empty before its first checkpoint.
        for line in text.splitlines()[2:]:
            topic, partition, offset = line.split()
            yield {"topic": topic, "partition": int(partition), "offset": int(offset)}
    else:
        separator = ":" if name == files.PARTITION else "="
        pairs = (
            line.partition(separator) for line in text.splitlines() if not line.startswith("#")
        )
        yield {key.strip(): value.strip() for key, _, value in pairs}
