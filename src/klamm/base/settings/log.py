"""Where the data lies and how it is kept: directories, segments, retention.

Most rows are defaults for topics; those have no field here, because a log reads its TopicSettings only.
"""

from dataclasses import dataclass, replace

from klamm.base.settings.checks import ListOf
from klamm.base.settings.declare import LONG_MAX, Mode, Setting, Synonym, accepted, row, setting
from klamm.base.settings.kinds import Kind
from klamm.base.settings.topic import TOPIC


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    log_dir: tuple[str, ...] = setting(
        "log.dir",
        Kind.LIST,
        ("/tmp/kafka-logs",),
        check=ListOf(may_be_empty=False),
        doc="Data directory, where `log.dirs` is not set.",
    )
    log_dirs: tuple[str, ...] | None = setting(
        "log.dirs",
        Kind.LIST,
        None,
        check=ListOf(may_be_empty=False),
        doc="Data directories; partitions are spread over them.",
    )
    retention_check_interval_ms: int = setting(
        "log.retention.check.interval.ms",
        Kind.LONG,
        300_000,
        at_least=1,
        doc="Time between two looks for segments to drop.",
    )
    flush_scheduler_interval_ms: int = setting(
        "log.flush.scheduler.interval.ms",
        Kind.LONG,
        LONG_MAX,
        doc="Time between two looks for logs that are due to be forced to disk.",
    )
    flush_offset_checkpoint_interval_ms: int = setting(
        "log.flush.offset.checkpoint.interval.ms",
        Kind.INT,
        60_000,
        at_least=0,
        doc="Time between two writes of the recovery points.",
    )
    flush_start_offset_checkpoint_interval_ms: int = setting(
        "log.flush.start.offset.checkpoint.interval.ms",
        Kind.INT,
        60_000,
        at_least=0,
        doc="Time between two writes of the log start offsets.",
    )
    high_watermark_checkpoint_interval_ms: int = setting(
        "replica.high.watermark.checkpoint.interval.ms",
        Kind.LONG,
        5000,
        doc="Time between two writes of the high watermarks.",
    )
    producer_id_expiration_ms: int = setting(
        "producer.id.expiration.ms",
        Kind.INT,
        86_400_000,
        at_least=1,
        mode=Mode.CLUSTER_WIDE,
        doc="Time after which an idle idempotent producer is forgotten.",
    )
    producer_id_expiration_check_interval_ms: int = setting(
        "producer.id.expiration.check.interval.ms",
        Kind.INT,
        600_000,
        at_least=1,
        hidden=True,
        doc="Time between two looks for producers to forget.",
    )
    max_producer_ids: int = setting(
        "klamm.max.producer.ids",
        Kind.INT,
        200_000,
        at_least=1,
        hidden=True,
        doc="Most producers that all partitions together remember; those silent for longest are forgotten first.",
    )
    initial_task_delay_ms: int = setting(
        "log.initial.task.delay.ms",
        Kind.LONG,
        30_000,
        at_least=0,
        hidden=True,
        doc="Time after the start before the periodic work on logs begins.",
    )

    @property
    def directories(self) -> tuple[str, ...]:
        return self.log_dirs if self.log_dirs is not None else self.log_dir


def _default_of(topic_setting: str, name: str) -> Setting:
    """The broker's default of a topic setting: same type, same bounds."""
    doc = f"Default of the topic setting `{topic_setting}`."
    return replace(TOPIC[topic_setting], name=name, mode=Mode.CLUSTER_WIDE, doc=doc, synonyms=())


def _synonyms(*names: str) -> tuple[Synonym, ...]:
    return tuple(map(Synonym, names))


_RETENTION = _synonyms("log.retention.ms", "log.retention.minutes", "log.retention.hours")
_ROLL = _synonyms("log.roll.ms", "log.roll.hours")
_JITTER = _synonyms("log.roll.jitter.ms", "log.roll.jitter.hours")
_FLUSH = _synonyms("log.flush.interval.ms", "log.flush.scheduler.interval.ms")

# fmt: off
TOPIC_DEFAULTS: tuple[Setting, ...] = (
    _default_of("cleanup.policy", "log.cleanup.policy"),
    _default_of("compression.type", "compression.type"),
    _default_of("compression.gzip.level", "compression.gzip.level"),
    _default_of("compression.lz4.level", "compression.lz4.level"),
    _default_of("compression.zstd.level", "compression.zstd.level"),
    _default_of("delete.retention.ms", "log.cleaner.delete.retention.ms"),
    _default_of("file.delete.delay.ms", "log.segment.delete.delay.ms"),
    _default_of("flush.messages", "log.flush.interval.messages"),
    _default_of("index.interval.bytes", "log.index.interval.bytes"),
    _default_of("local.retention.bytes", "log.local.retention.bytes"),
    _default_of("local.retention.ms", "log.local.retention.ms"),
    _default_of("max.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"),
    _default_of("max.message.bytes", "message.max.bytes"),
    _default_of("message.timestamp.after.max.ms", "log.message.timestamp.after.max.ms"),
    _default_of("message.timestamp.before.max.ms", "log.message.timestamp.before.max.ms"),
    _default_of("message.timestamp.type", "log.message.timestamp.type"),
    _default_of("min.cleanable.dirty.ratio", "log.cleaner.min.cleanable.ratio"),
    _default_of("min.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms"),
    _default_of("min.insync.replicas", "min.insync.replicas"),
    _default_of("preallocate", "log.preallocate"),
    _default_of("retention.bytes", "log.retention.bytes"),
    _default_of("segment.bytes", "log.segment.bytes"),
    _default_of("segment.index.bytes", "log.index.size.max.bytes"),
    _default_of("unclean.leader.election.enable", "unclean.leader.election.enable"),
    # These come in several units, the finest first; the finest that is set wins.
    row("log.retention.ms", Kind.LONG, None, mode=Mode.CLUSTER_WIDE, synonyms=_RETENTION, doc="Default of the topic setting `retention.ms`."),
    row("log.retention.minutes", Kind.INT, None, synonyms=_RETENTION, doc="Default of the topic setting `retention.ms`, in minutes; holds where `log.retention.ms` is not set."),
    row("log.retention.hours", Kind.INT, 168, synonyms=_RETENTION, doc="Default of the topic setting `retention.ms`, in hours; holds where neither milliseconds nor minutes are set."),
    row("log.roll.ms", Kind.LONG, None, mode=Mode.CLUSTER_WIDE, synonyms=_ROLL, doc="Default of the topic setting `segment.ms`."),
    row("log.roll.hours", Kind.INT, 168, at_least=1, synonyms=_ROLL, doc="Default of the topic setting `segment.ms`, in hours; holds where `log.roll.ms` is not set."),
    row("log.roll.jitter.ms", Kind.LONG, None, mode=Mode.CLUSTER_WIDE, synonyms=_JITTER, doc="Default of the topic setting `segment.jitter.ms`."),
    row("log.roll.jitter.hours", Kind.INT, 0, at_least=0, synonyms=_JITTER, doc="Default of the topic setting `segment.jitter.ms`, in hours; holds where `log.roll.jitter.ms` is not set."),
    row("log.flush.interval.ms", Kind.LONG, None, mode=Mode.CLUSTER_WIDE, synonyms=_FLUSH, doc="Default of the topic setting `flush.ms`; `log.flush.scheduler.interval.ms` where it is not set."),
)
# fmt: on

# fmt: off
ROWS: tuple[Setting, ...] = (
    row("cordoned.log.dirs", Kind.LIST, (), mode=Mode.PER_BROKER, doc="Data directories that get no new partitions."),
    accepted("log.dir.failure.timeout.ms", Kind.LONG, 30_000, at_least=1, doc="Time after which a broker that cannot report a failed directory stops."),
    accepted("num.recovery.threads.per.data.dir", Kind.INT, 2, at_least=1, mode=Mode.CLUSTER_WIDE, doc="Threads that open and recover the logs of one directory."),
    accepted("num.replica.alter.log.dirs.threads", Kind.INT, None, doc="Threads that move replicas between data directories."),
)
# fmt: on
