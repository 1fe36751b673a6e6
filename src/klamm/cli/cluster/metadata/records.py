"""The batches of the metadata log as rows: one for each record, with the names that Kafka gives its fields."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator

from klamm.base.errors import CorruptFrame
from klamm.base.ids import Uuid
from klamm.cli.output import Json, Row
from klamm.metadata import framing
from klamm.metadata.records.configs import ConfigRecord
from klamm.metadata.records.security import DelegationTokenRecord, UserScramCredentialRecord
from klamm.protocol.declare import schema_of
from klamm.protocol.records.batch import BatchHeader, batches
from klamm.protocol.records.control import read_control_messages
from klamm.protocol.records.reader import read_records
from klamm.protocol.wire import Buffer

_SECRET = "(hidden)"
# What nobody may read off a screen.
_HIDDEN = {
    UserScramCredentialRecord: {"salt", "stored_key", "server_key"},
    DelegationTokenRecord: {"hmac"},
}
_SECRET_CONFIGS = ("password", "secret", "jaas", ".key")


def rows_of(data: Buffer, *, source: str) -> Iterator[Row]:
    """CorruptFrame where the bytes stop making sense; the rows before that are given."""
    for header, batch in batches(memoryview(data)):
        yield from _rows(header, batch, source)


def _rows(header: BatchHeader, batch: memoryview, source: str) -> Iterator[Row]:
    messages: Iterable[object]
    if header.is_control:
        messages = read_control_messages(batch)
    else:
        messages = (_decode(each.value) for each in read_records(batch))
    for offset, message in enumerate(messages, start=header.base_offset):
        yield {
            "source": source,
            "offset": offset,
            "epoch": header.leader_epoch,
            "record": type(message).__name__,
            "fields": _plain(message),
        }


def _decode(value: bytes | None) -> object:
    if value is None:
        raise CorruptFrame("a metadata record has no value")
    return framing.decode(value)


def _plain(value: object) -> Json:
    if isinstance(value, Uuid):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(value).decode()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    hidden = _hidden(value)
    return {
        each.name: _SECRET if each.name in hidden else _plain(getattr(value, each.name))
        for each in schema_of(type(value)).fields
    }


def _hidden(message: object) -> set[str]:
    if isinstance(message, ConfigRecord) and any(part in message.name for part in _SECRET_CONFIGS):
        return {"value"}
    return _HIDDEN.get(type(message), set())
