"""How a metadata record stands in the value of a log record: frame version, kind, version, body.

The version that may be written depends on metadata.version: an older node of the cluster must be able to read
it. Any version that is declared can be read.
"""

from __future__ import annotations

from klamm.base.errors import CorruptFrame
from klamm.metadata.records import configs, log, nodes, producer_ids, security, topics
from klamm.protocol.compile import decoder, encoder
from klamm.protocol.declare import schema_of
from klamm.protocol.wire import Buffer, read_uvarint

FRAME_VERSION = 1

_CLASSES: tuple[type, ...] = (
    configs.ClientQuotaRecord,
    configs.ConfigRecord,
    configs.FeatureLevelRecord,
    log.AbortTransactionRecord,
    log.BeginTransactionRecord,
    log.EndTransactionRecord,
    log.NoOpRecord,
    log.ZkMigrationStateRecord,
    nodes.BrokerRegistrationChangeRecord,
    nodes.FenceBrokerRecord,
    nodes.RegisterBrokerRecord,
    nodes.RegisterControllerRecord,
    nodes.UnfenceBrokerRecord,
    nodes.UnregisterBrokerRecord,
    producer_ids.ProducerIdsRecord,
    security.AccessControlEntryRecord,
    security.DelegationTokenRecord,
    security.RemoveAccessControlEntryRecord,
    security.RemoveDelegationTokenRecord,
    security.RemoveUserScramCredentialRecord,
    security.UserScramCredentialRecord,
    topics.ClearElrRecord,
    topics.PartitionChangeRecord,
    topics.PartitionRecord,
    topics.RemoveTopicRecord,
    topics.TopicRecord,
)
RECORDS: dict[int, type] = {
    key: cls for cls in _CLASSES if (key := schema_of(cls).api_key) is not None
}

# The levels of metadata.version from which on a record has a newer form; all others have one form only.
_FORMS: dict[type, tuple[tuple[int, int], ...]] = {
    nodes.RegisterBrokerRecord: ((30, 4), (17, 3), (8, 2), (7, 1)),
    topics.PartitionRecord: ((23, 2), (17, 1)),
    topics.PartitionChangeRecord: ((23, 2), (17, 1)),
}


def encode(record: object, metadata_version: int) -> bytes:
    version = version_to_write(record, metadata_version)
    cls = type(record)
    # Kinds and versions are below 128, so that each is one byte of varint.
    out = bytearray((FRAME_VERSION, _KINDS[cls], version))
    encoder(cls, version)(record, out)
    return bytes(out)


def decode(value: Buffer | None) -> object:
    if value is None:
        raise CorruptFrame("a metadata record without a value")
    try:
        frame, at = read_uvarint(value, 0)
        kind, at = read_uvarint(value, at)
        version, at = read_uvarint(value, at)
    except IndexError:
        raise CorruptFrame("a metadata record ends in its frame") from None
    if frame != FRAME_VERSION:
        raise CorruptFrame(f"frame version {frame} of a metadata record is not known")
    cls = RECORDS.get(kind)
    if cls is None:
        raise CorruptFrame(f"no metadata record has the number {kind}")
    low, high = schema_of(cls).versions
    if not low <= version <= high:
        raise CorruptFrame(f"{cls.__name__} has versions {low}-{high}, not {version}")
    record: object
    record, end = decoder(cls, version)(value, at)
    if end != len(value):
        raise CorruptFrame(f"{len(value) - end} bytes are left over after a {cls.__name__}")
    return record


def version_to_write(record: object, metadata_version: int) -> int:
    if isinstance(record, nodes.BrokerRegistrationChangeRecord):
        return _lowest_that_can_say(record)
    forms = _FORMS.get(type(record), ())
    return next((version for level, version in forms if metadata_version >= level), 0)


def _lowest_that_can_say(record: nodes.BrokerRegistrationChangeRecord) -> int:
    """Each newer form of this record only adds a field; Kafka writes the oldest that has what is needed."""
    if record.cordoned_log_dirs is not None:
        return 3
    if record.log_dirs:
        return 2
    return 1 if record.in_controlled_shutdown else 0


_KINDS: dict[type, int] = {cls: key for key, cls in RECORDS.items()}
