"""Control batches: the bytes of Java, and back."""

import pytest

from klamm.base.errors import CorruptFrame
from klamm.base.ids import Uuid
from klamm.protocol.messages import control as messages
from klamm.protocol.records.batch import CONTROL, check_crc, read_header
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.control import (
    ControlType,
    EndMarker,
    control_batch,
    end_marker_batch,
    read_control_messages,
    read_end_marker,
    type_of,
)
from klamm.protocol.records.reader import Record, read_records
from protocol.records.raw import a_raw_batch, a_raw_record, nullable
from protocol.records.samples import T, read_vectors

VECTORS = read_vectors("control")
VOTER = messages.LeaderChangeMessageVoter(voter_id=1)
MESSAGES = {
    "leader_change": [
        messages.LeaderChangeMessage(leader_id=1, voters=[VOTER], granting_voters=[VOTER])
    ],
    "snapshot_start": [
        messages.SnapshotHeaderRecord(last_contained_log_timestamp=T - 1),
        messages.KRaftVersionRecord(kraft_version=1),
        messages.VotersRecord(
            voters=[
                messages.VotersRecordVoter(
                    voter_id=1,
                    voter_directory_id=Uuid(bytes([0] * 7 + [1] + [0] * 7 + [2])),
                    endpoints=[messages.Endpoint(name="CONTROLLER", host="localhost", port=9093)],
                    kraft_version_feature=messages.KRaftVersionFeature(
                        min_supported_version=0, max_supported_version=1
                    ),
                )
            ]
        ),
    ],
    "snapshot_footer": [messages.SnapshotFooterRecord()],
}
MARKERS = {"abort": EndMarker(False, 11), "commit": EndMarker(True, 11)}


@pytest.mark.parametrize("name", MARKERS)
def test_ends_of_transactions_have_the_bytes_of_java(name):
    batch = end_marker_batch(
        MARKERS[name],
        producer_id=4001,
        producer_epoch=3,
        timestamp=T,
        base_offset=42,
        leader_epoch=5,
    )

    assert batch == VECTORS[name]
    assert len(batch) == 78


@pytest.mark.parametrize("name", MARKERS)
def test_ends_of_transactions_are_read(name):
    assert read_end_marker(VECTORS[name]) == MARKERS[name]
    assert list(read_control_messages(VECTORS[name])) == []


@pytest.mark.parametrize("name", MESSAGES)
def test_kraft_batches_have_the_bytes_of_java(name):
    batch = control_batch(MESSAGES[name], timestamp=T, base_offset=42, leader_epoch=5)

    assert batch == VECTORS[name]
    assert check_crc(batch)


@pytest.mark.parametrize("name", MESSAGES)
def test_kraft_messages_are_read(name):
    assert list(read_control_messages(VECTORS[name])) == MESSAGES[name]
    assert read_end_marker(VECTORS[name]) is None


def test_every_type_is_told_from_the_key():
    batches = [VECTORS[name] for name in ("abort", "commit", *MESSAGES)]

    types = [type_of(record) for batch in batches for record in read_records(batch)]

    assert sorted(set(types)) == sorted(ControlType)


def test_type_that_came_after_us_is_passed_over():
    batch = build_batch([Record(key=b"\x00\x00\x00\x63", value=b"?")], control=True)

    assert read_end_marker(batch) is None
    assert list(read_control_messages(batch)) == []


def test_marker_of_a_newer_version_is_read_as_far_as_we_know_it():
    newer = b"\x00\x09" + b"\x00\x00\x00\x0b" + b"more"
    batch = build_batch([Record(key=b"\x00\x05\x00\x01", value=newer)], control=True)

    assert read_end_marker(batch) == EndMarker(is_commit=True, coordinator_epoch=11)


def test_control_batch_may_be_compacted_to_nothing():
    batch = a_raw_batch([], last_delta=0, attributes=CONTROL)

    assert read_header(batch).is_control
    assert read_end_marker(batch) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"\x00\x00\x00\x00\x00\x0b"),
        (b"\x00\x00\x00", b"\x00\x00\x00\x00\x00\x0b"),
        (b"\xff\xff\x00\x01", b"\x00\x00\x00\x00\x00\x0b"),
        (b"\x00\x00\x00\x01", None),
        (b"\x00\x00\x00\x01", b"\x00"),
        (b"\x00\x00\x00\x01", b"\x00\x00\x00\x00"),
        (b"\x00\x00\x00\x01", b"\xff\xff\x00\x00\x00\x0b"),
    ],
)
def test_marker_that_makes_no_sense_is_corrupt(key, value):
    record = a_raw_record(key=nullable(key), value=nullable(value))

    with pytest.raises(CorruptFrame):
        read_end_marker(a_raw_batch([record], attributes=CONTROL))


@pytest.mark.parametrize("value", [None, b"", b"\x00", b"\x00\x00", b"\xff\xff" + bytes(20)])
def test_kraft_message_that_makes_no_sense_is_corrupt(value):
    record = a_raw_record(key=nullable(b"\x00\x00\x00\x02"), value=nullable(value))

    with pytest.raises(CorruptFrame):
        list(read_control_messages(a_raw_batch([record], attributes=CONTROL)))


def test_batch_of_data_is_not_a_control_batch():
    batch = build_batch([Record(key=b"\x00\x00\x00\x01", value=b"v")])

    for read in (read_end_marker, lambda data: list(read_control_messages(data))):
        with pytest.raises(CorruptFrame):
            read(batch)
