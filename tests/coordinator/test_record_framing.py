"""Kind before the key, version before the value; what is unknown is passed over, what is broken is not."""

import pytest

from klamm.base.errors import CorruptFrame
from klamm.coordinator.records.framing import CoordinatorRecord, Framing
from klamm.coordinator.records.group import OffsetCommitKey, OffsetCommitValue

FRAMING = Framing(((OffsetCommitKey, OffsetCommitValue),))
KEY = OffsetCommitKey(group="g", topic="t", partition=3)


def test_kind_and_version_come_first() -> None:
    key, value = FRAMING.encode(CoordinatorRecord(KEY, OffsetCommitValue(offset=5), 3))
    assert key[:2] == b"\0\1"
    assert value is not None
    assert value[:2] == b"\0\3"


def test_a_record_is_read_as_it_was_written() -> None:
    record = CoordinatorRecord(KEY, OffsetCommitValue(offset=5, metadata="m"), 3)
    assert FRAMING.decode(*FRAMING.encode(record)) == record


def test_a_tombstone_has_no_value() -> None:
    assert FRAMING.encode(CoordinatorRecord(KEY))[1] is None
    assert FRAMING.decode(*FRAMING.encode(CoordinatorRecord(KEY))) == CoordinatorRecord(KEY)


def test_a_kind_of_a_newer_broker_is_passed_over() -> None:
    assert FRAMING.decode(b"\0\x63whatever", b"\0\0") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", None),
        (b"\0", None),
        (b"\0\1\0", None),
        (FRAMING.encode(CoordinatorRecord(KEY))[0], b""),
    ],
)
def test_what_is_cut_off_is_corrupt(key: bytes, value: bytes | None) -> None:
    with pytest.raises(CorruptFrame):
        FRAMING.decode(key, value)


def test_a_version_that_was_never_declared_is_corrupt() -> None:
    key, value = FRAMING.encode(CoordinatorRecord(KEY, OffsetCommitValue(), 3))
    assert value is not None
    with pytest.raises(CorruptFrame, match="version 9"):
        FRAMING.decode(key, b"\0\x09" + value[2:])
