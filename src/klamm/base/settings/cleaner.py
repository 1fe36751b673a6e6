"""How logs are compacted. What of a topic is compacted, and when, its own settings say."""

import sys
from dataclasses import dataclass

from klamm.base.settings.declare import Mode, Setting, accepted, setting
from klamm.base.settings.kinds import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanerSettings:
    enable: bool = setting("log.cleaner.enable", Kind.BOOLEAN, True, doc="Run the log cleaner.")
    backoff_ms: int = setting(
        "log.cleaner.backoff.ms",
        Kind.LONG,
        15_000,
        at_least=0,
        mode=Mode.CLUSTER_WIDE,
        doc="Time the cleaner sleeps when there is nothing to clean.",
    )
    dedupe_buffer_size: int = setting(
        "log.cleaner.dedupe.buffer.size",
        Kind.LONG,
        134_217_728,
        mode=Mode.CLUSTER_WIDE,
        doc="Memory for the map of keys while a log is compacted, shared by all cleaner threads.",
    )
    io_buffer_load_factor: float = setting(
        "log.cleaner.io.buffer.load.factor",
        Kind.DOUBLE,
        0.9,
        mode=Mode.CLUSTER_WIDE,
        doc="How full the cleaner's map of keys may become.",
    )
    io_max_bytes_per_second: float = setting(
        "log.cleaner.io.max.bytes.per.second",
        Kind.DOUBLE,
        sys.float_info.max,
        mode=Mode.CLUSTER_WIDE,
        doc="Most bytes per second that the cleaner reads and writes.",
    )


# fmt: off
ROWS: tuple[Setting, ...] = (
    accepted("log.cleaner.threads", Kind.INT, 1, at_least=0, mode=Mode.CLUSTER_WIDE, doc="Threads that compact logs; klamm has one."),
    accepted("log.cleaner.io.buffer.size", Kind.INT, 524_288, at_least=0, mode=Mode.CLUSTER_WIDE, doc="Memory for the cleaner's read and write buffers."),
)
# fmt: on
