"""How records stand in the log: byte for byte as a real 4.3.1 wrote them."""

import pytest

from klamm.base.errors import CorruptFrame
from klamm.base.ids import Uuid
from klamm.metadata import framing
from klamm.metadata.records.configs import ConfigRecord, FeatureLevelRecord
from klamm.metadata.records.log import BeginTransactionRecord, EndTransactionRecord, NoOpRecord
from klamm.metadata.records.nodes import BrokerRegistrationChangeRecord, RegisterBrokerRecord
from klamm.metadata.records.topics import PartitionChangeRecord, PartitionRecord

# Values out of the metadata log of a real broker.
SEEN = [
    (
        BeginTransactionRecord(name="Bootstrap records"),
        "01170001001212426f6f747374726170207265636f726473",
    ),
    (EndTransactionRecord(), "01180000"),
    (
        FeatureLevelRecord(name="group.version", feature_level=1),
        "010c000e67726f75702e76657273696f6e000100",
    ),
    (
        ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="1"),
        "0104000401146d696e2e696e73796e632e7265706c69636173023100",
    ),
    (NoOpRecord(), "01140000"),
]


@pytest.mark.parametrize(("record", "seen"), SEEN, ids=lambda each: type(each).__name__)
def test_bytes_are_those_of_kafka(record, seen):
    assert framing.encode(record, 30).hex() == seen
    assert framing.decode(bytes.fromhex(seen)) == record


def test_every_record_survives_the_way_there_and_back(everything):
    for record in everything:
        assert framing.decode(framing.encode(record, 30)) == record


@pytest.mark.parametrize(
    ("record", "level", "version"),
    [
        (RegisterBrokerRecord(), 30, 4),
        (RegisterBrokerRecord(), 29, 3),
        (RegisterBrokerRecord(), 8, 2),
        (RegisterBrokerRecord(), 7, 1),
        (PartitionRecord(), 30, 2),
        (PartitionRecord(), 22, 1),
        (PartitionRecord(), 16, 0),
        (PartitionChangeRecord(), 23, 2),
        (BrokerRegistrationChangeRecord(fenced=-1), 30, 0),
        (BrokerRegistrationChangeRecord(in_controlled_shutdown=1), 30, 1),
        (BrokerRegistrationChangeRecord(log_dirs=[Uuid(bytes(16))]), 30, 2),
        (BrokerRegistrationChangeRecord(cordoned_log_dirs=[]), 30, 3),
        (NoOpRecord(), 30, 0),
    ],
)
def test_no_node_is_sent_a_version_that_it_cannot_read(record, level, version):
    assert framing.version_to_write(record, level) == version


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"\x01",
        b"\x01\x14",
        b"\x02\x14\x00\x00",
        b"\x01\x7f\x00\x00",
        b"\x01\x14\x09\x00",
    ],
)
def test_nonsense_is_corrupt(value):
    with pytest.raises(CorruptFrame):
        framing.decode(value)


def test_bytes_left_over_are_corrupt():
    with pytest.raises(CorruptFrame):
        framing.decode(framing.encode(NoOpRecord(), 30) + b"x")


def test_every_prefix_of_every_record_is_corrupt(everything):
    for record in everything:
        value = framing.encode(record, 30)
        for size in range(len(value)):
            with pytest.raises(CorruptFrame):
                framing.decode(value[:size])
