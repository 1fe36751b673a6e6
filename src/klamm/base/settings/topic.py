"""What a topic may set for itself, and which broker setting stands in where it does not."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from klamm.base.settings.checks import GzipLevel, ThrottledReplicas
from klamm.base.settings.declare import LONG_MAX, Setting, Synonym, setting, settings_of
from klamm.base.settings.kinds import Kind, Value, read

_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS
_DAY_MS = 24 * _HOUR_MS


def _broker(*names: str | Synonym) -> tuple[Synonym, ...]:
    return tuple(Synonym(name) if isinstance(name, str) else name for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    cleanup_policy: tuple[str, ...] = setting(
        "cleanup.policy",
        Kind.LIST,
        ("delete",),
        one_of=("compact", "delete"),
        synonyms=_broker("log.cleanup.policy"),
        doc="What happens to old data: `delete` drops whole segments, `compact` keeps the last value of each key; both or none may be named.",
    )
    compression_gzip_level: int = setting(
        "compression.gzip.level",
        Kind.INT,
        -1,
        check=GzipLevel(),
        synonyms=_broker("compression.gzip.level"),
        doc="Level used when the broker itself compresses with gzip.",
    )
    compression_lz4_level: int = setting(
        "compression.lz4.level",
        Kind.INT,
        9,
        at_least=1,
        at_most=17,
        synonyms=_broker("compression.lz4.level"),
        doc="Level used when the broker itself compresses with lz4.",
    )
    compression_type: str = setting(
        "compression.type",
        Kind.STRING,
        "producer",
        one_of=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        synonyms=_broker("compression.type"),
        doc="Codec of the batches on disk; `producer` keeps what the producer chose.",
    )
    compression_zstd_level: int = setting(
        "compression.zstd.level",
        Kind.INT,
        3,
        at_least=-131072,
        at_most=22,
        synonyms=_broker("compression.zstd.level"),
        doc="Level used when the broker itself compresses with zstd.",
    )
    delete_retention_ms: int = setting(
        "delete.retention.ms",
        Kind.LONG,
        _DAY_MS,
        at_least=0,
        synonyms=_broker("log.cleaner.delete.retention.ms"),
        doc="How long a compacted topic keeps the tombstone of a deleted key, so that slow readers still see it.",
    )
    file_delete_delay_ms: int = setting(
        "file.delete.delay.ms",
        Kind.LONG,
        _MINUTE_MS,
        at_least=0,
        synonyms=_broker("log.segment.delete.delay.ms"),
        doc="Time between dropping a segment from the log and removing its files.",
    )
    flush_messages: int = setting(
        "flush.messages",
        Kind.LONG,
        LONG_MAX,
        at_least=1,
        synonyms=_broker("log.flush.interval.messages"),
        doc="Number of records after which the log is forced to disk.",
    )
    flush_ms: int = setting(
        "flush.ms",
        Kind.LONG,
        LONG_MAX,
        at_least=0,
        synonyms=_broker("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
        doc="Time after which the log is forced to disk.",
    )
    follower_replication_throttled_replicas: tuple[str, ...] = setting(
        "follower.replication.throttled.replicas",
        Kind.LIST,
        (),
        check=ThrottledReplicas(),
        effective=False,
        doc="Replicas whose fetching is slowed down on the follower, as partition:broker pairs or `*`.",
    )
    index_interval_bytes: int = setting(
        "index.interval.bytes",
        Kind.INT,
        4096,
        at_least=0,
        synonyms=_broker("log.index.interval.bytes"),
        doc="Bytes of log between two entries of the offset index.",
    )
    leader_replication_throttled_replicas: tuple[str, ...] = setting(
        "leader.replication.throttled.replicas",
        Kind.LIST,
        (),
        check=ThrottledReplicas(),
        effective=False,
        doc="Replicas whose fetching is slowed down on the leader, as partition:broker pairs or `*`.",
    )
    local_retention_bytes: int = setting(
        "local.retention.bytes",
        Kind.LONG,
        -2,
        at_least=-2,
        synonyms=_broker("log.local.retention.bytes"),
        effective=False,
        doc="With tiered storage, the bytes of a partition kept on the local disk; -2 follows `retention.bytes`.",
    )
    local_retention_ms: int = setting(
        "local.retention.ms",
        Kind.LONG,
        -2,
        at_least=-2,
        synonyms=_broker("log.local.retention.ms"),
        effective=False,
        doc="With tiered storage, how long a segment stays on the local disk; -2 follows `retention.ms`.",
    )
    max_compaction_lag_ms: int = setting(
        "max.compaction.lag.ms",
        Kind.LONG,
        LONG_MAX,
        at_least=1,
        synonyms=_broker("log.cleaner.max.compaction.lag.ms"),
        doc="Longest time a record of a compacted topic may wait to be compacted.",
    )
    max_message_bytes: int = setting(
        "max.message.bytes",
        Kind.INT,
        1_048_588,
        at_least=0,
        synonyms=_broker("message.max.bytes"),
        doc="Largest record batch that a producer may send, after compression.",
    )
    message_timestamp_after_max_ms: int = setting(
        "message.timestamp.after.max.ms",
        Kind.LONG,
        _HOUR_MS,
        at_least=0,
        synonyms=_broker("log.message.timestamp.after.max.ms"),
        doc="How far a record's timestamp may be ahead of the broker's clock.",
    )
    message_timestamp_before_max_ms: int = setting(
        "message.timestamp.before.max.ms",
        Kind.LONG,
        LONG_MAX,
        at_least=0,
        synonyms=_broker("log.message.timestamp.before.max.ms"),
        doc="How far a record's timestamp may be behind the broker's clock.",
    )
    message_timestamp_type: str = setting(
        "message.timestamp.type",
        Kind.STRING,
        "CreateTime",
        one_of=("CreateTime", "LogAppendTime"),
        synonyms=_broker("log.message.timestamp.type"),
        doc="Whose clock stamps the records: the producer's (`CreateTime`) or the broker's (`LogAppendTime`).",
    )
    min_cleanable_dirty_ratio: float = setting(
        "min.cleanable.dirty.ratio",
        Kind.DOUBLE,
        0.5,
        at_least=0,
        at_most=1,
        synonyms=_broker("log.cleaner.min.cleanable.ratio"),
        doc="Share of a compacted log that must be new before it is compacted again.",
    )
    min_compaction_lag_ms: int = setting(
        "min.compaction.lag.ms",
        Kind.LONG,
        0,
        at_least=0,
        synonyms=_broker("log.cleaner.min.compaction.lag.ms"),
        doc="Shortest time a record of a compacted topic is left alone.",
    )
    min_insync_replicas: int = setting(
        "min.insync.replicas",
        Kind.INT,
        1,
        at_least=1,
        synonyms=_broker("min.insync.replicas"),
        doc="In-sync replicas a partition needs before a produce with acks=all is accepted.",
    )
    preallocate: bool = setting(
        "preallocate",
        Kind.BOOLEAN,
        False,
        synonyms=_broker("log.preallocate"),
        effective=False,
        doc="Reserve the disk space of a segment when it is created.",
    )
    remote_log_copy_disable: bool = setting(
        "remote.log.copy.disable",
        Kind.BOOLEAN,
        False,
        effective=False,
        doc="With tiered storage, stop copying new segments to it.",
    )
    remote_log_delete_on_disable: bool = setting(
        "remote.log.delete.on.disable",
        Kind.BOOLEAN,
        False,
        effective=False,
        doc="Delete what is in tiered storage when tiered storage is switched off for the topic.",
    )
    remote_storage_enable: bool = setting(
        "remote.storage.enable",
        Kind.BOOLEAN,
        False,
        effective=False,
        doc="Keep old segments of the topic in tiered storage.",
    )
    retention_bytes: int = setting(
        "retention.bytes",
        Kind.LONG,
        -1,
        synonyms=_broker("log.retention.bytes"),
        doc="Size of a partition above which its oldest segments are dropped; -1 for no limit.",
    )
    retention_ms: int = setting(
        "retention.ms",
        Kind.LONG,
        7 * _DAY_MS,
        at_least=-1,
        synonyms=_broker(
            "log.retention.ms",
            Synonym("log.retention.minutes", _MINUTE_MS),
            Synonym("log.retention.hours", _HOUR_MS),
        ),
        doc="Age at which a segment is dropped; -1 for no limit.",
    )
    segment_bytes: int = setting(
        "segment.bytes",
        Kind.INT,
        1 << 30,
        at_least=1 << 20,
        synonyms=_broker("log.segment.bytes"),
        doc="Size at which a segment is closed and a new one begun.",
    )
    segment_index_bytes: int = setting(
        "segment.index.bytes",
        Kind.INT,
        10 << 20,
        at_least=4,
        synonyms=_broker("log.index.size.max.bytes"),
        doc="Largest size of a segment's index; a full index closes the segment.",
    )
    segment_jitter_ms: int = setting(
        "segment.jitter.ms",
        Kind.LONG,
        0,
        at_least=0,
        synonyms=_broker("log.roll.jitter.ms", Synonym("log.roll.jitter.hours", _HOUR_MS)),
        doc="Random time by which `segment.ms` is shortened, so that segments do not all close at once.",
    )
    segment_ms: int = setting(
        "segment.ms",
        Kind.LONG,
        7 * _DAY_MS,
        at_least=1,
        synonyms=_broker("log.roll.ms", Synonym("log.roll.hours", _HOUR_MS)),
        doc="Age at which a segment is closed even if it is not full.",
    )
    unclean_leader_election_enable: bool = setting(
        "unclean.leader.election.enable",
        Kind.BOOLEAN,
        False,
        synonyms=_broker("unclean.leader.election.enable"),
        effective=False,
        doc="Let a replica that is not in sync become leader when no other is left, at the price of lost records.",
    )
    internal_segment_bytes: int | None = setting(
        "internal.segment.bytes",
        Kind.INT,
        None,
        hidden=True,
        doc="Segment size without the lower bound of `segment.bytes`, for tests.",
    )


_ATTRIBUTES = {
    declared.name: attribute for attribute, declared in settings_of(TopicSettings).items()
}
TOPIC: Mapping[str, Setting] = {
    declared.name: declared for declared in settings_of(TopicSettings).values()
}

_BROKER_NAMES = tuple(synonym.name for declared in TOPIC.values() for synonym in declared.synonyms)


def attribute_of(name: str) -> str:
    """The field of TopicSettings behind a name."""
    return _ATTRIBUTES[name]


def topic_defaults(broker: Mapping[str, str]) -> TopicSettings:
    """The settings of a topic that sets nothing, under the given texts of broker settings."""
    return _shared_defaults(tuple((name, broker[name]) for name in _BROKER_NAMES if name in broker))


@lru_cache(maxsize=16)
def _shared_defaults(texts: tuple[tuple[str, str], ...]) -> TopicSettings:
    """Thousands of topics set nothing: they share one object."""
    broker = dict(texts)
    values: dict[str, Value] = {}
    for name, declared in TOPIC.items():
        for synonym in declared.synonyms:
            if synonym.name in broker:
                values[_ATTRIBUTES[name]] = _convert(declared, synonym, broker[synonym.name])
                break
    return TopicSettings(**values)  # type: ignore[arg-type]


def with_overrides(defaults: TopicSettings, overrides: Mapping[str, str]) -> TopicSettings:
    """The settings of a topic that sets `overrides`. Names from another version of Kafka are passed over."""
    if not overrides:
        return defaults
    values = {
        _ATTRIBUTES[name]: TOPIC[name].read(text)
        for name, text in overrides.items()
        if name in _ATTRIBUTES
    }
    # The log asks for one segment size only, so the unbounded one for tests takes the place of the other.
    if (internal := values.get("internal_segment_bytes")) is not None:
        values["segment_bytes"] = internal
    return replace(defaults, **values)  # type: ignore[arg-type]


def _convert(declared: Setting, synonym: Synonym, text: str) -> Value:
    # The bounds are those of the broker's own row, which has checked the text already.
    value = read(declared.kind, text)
    if synonym.times != 1:
        assert isinstance(value, int)
        value *= synonym.times
    # A broker may write "no limit" as any negative number; a topic writes -1.
    return max(value, -1) if declared.name == "retention.ms" and isinstance(value, int) else value
