"""The metadata quorum: its voters, its timing and its log."""

from dataclasses import dataclass

from klamm.base.settings.checks import HostsAndPorts, Voters
from klamm.base.settings.declare import Setting, accepted, row, setting
from klamm.base.settings.kinds import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumSettings:
    voters: tuple[str, ...] = setting(
        "controller.quorum.voters",
        Kind.LIST,
        (),
        check=Voters(),
        doc="Voters of a fixed quorum, as id@host:port.",
    )
    bootstrap_servers: tuple[str, ...] = setting(
        "controller.quorum.bootstrap.servers",
        Kind.LIST,
        (),
        check=HostsAndPorts(),
        doc="Addresses at which a node finds the controllers of a quorum that may change.",
    )
    election_timeout_ms: int = setting(
        "controller.quorum.election.timeout.ms",
        Kind.INT,
        1_000,
        at_least=0,
        doc="Longest time a candidate waits for votes.",
    )
    fetch_timeout_ms: int = setting(
        "controller.quorum.fetch.timeout.ms",
        Kind.INT,
        2_000,
        at_least=0,
        doc="Time without an answer of the leader after which a voter stands for election.",
    )
    election_backoff_max_ms: int = setting(
        "controller.quorum.election.backoff.max.ms",
        Kind.INT,
        1_000,
        at_least=0,
        doc="Longest pause between two elections.",
    )
    request_timeout_ms: int = setting(
        "controller.quorum.request.timeout.ms",
        Kind.INT,
        2_000,
        at_least=0,
        doc="Longest wait for an answer of another voter.",
    )
    retry_backoff_ms: int = setting(
        "controller.quorum.retry.backoff.ms",
        Kind.INT,
        20,
        at_least=0,
        doc="Pause before a failed request is sent again.",
    )
    fetch_snapshot_max_bytes: int = setting(
        "controller.quorum.fetch.snapshot.max.bytes",
        Kind.INT,
        1_048_576,
        at_least=1,
        doc="Bytes of a snapshot fetched at once.",
    )
    fetch_max_bytes: int = setting(
        "controller.quorum.fetch.max.bytes",
        Kind.INT,
        1_048_576,
        at_least=1,
        doc="Bytes of the metadata log fetched at once.",
    )
    metadata_log_dir: str | None = setting(
        "metadata.log.dir",
        Kind.STRING,
        None,
        doc="Directory of the metadata log; the first data directory where it is not set.",
    )
    metadata_log_segment_bytes: int = setting(
        "metadata.log.segment.bytes",
        Kind.INT,
        1 << 30,
        at_least=8 << 20,
        doc="Size at which a segment of the metadata log is closed.",
    )
    metadata_log_segment_ms: int = setting(
        "metadata.log.segment.ms",
        Kind.LONG,
        604_800_000,
        doc="Age at which a segment of the metadata log is closed.",
    )
    metadata_max_bytes_between_snapshots: int = setting(
        "metadata.log.max.record.bytes.between.snapshots",
        Kind.LONG,
        20 << 20,
        at_least=1,
        doc="Bytes of metadata records after which a snapshot is written.",
    )
    metadata_max_snapshot_interval_ms: int = setting(
        "metadata.log.max.snapshot.interval.ms",
        Kind.LONG,
        3_600_000,
        at_least=0,
        doc="Longest time between two snapshots while records come in; 0 for no limit.",
    )
    metadata_max_retention_bytes: int = setting(
        "metadata.max.retention.bytes",
        Kind.LONG,
        100 << 20,
        doc="Size of metadata log and snapshots above which the oldest are dropped; -1 for no limit.",
    )
    metadata_max_retention_ms: int = setting(
        "metadata.max.retention.ms",
        Kind.LONG,
        604_800_000,
        doc="Age at which old metadata segments and snapshots are dropped; -1 for no limit.",
    )
    metadata_max_idle_interval_ms: int = setting(
        "metadata.max.idle.interval.ms",
        Kind.INT,
        500,
        at_least=0,
        doc="Time after which an idle active controller writes a no-op record; 0 for never.",
    )


# fmt: off
ROWS: tuple[Setting, ...] = (
    accepted("controller.quorum.append.linger.ms", Kind.INT, 25, at_least=0, doc="Time the leader waits to gather records before it writes them."),
    accepted("controller.quorum.auto.join.enable", Kind.BOOLEAN, False, doc="Let a new controller join a dynamic quorum by itself."),
    row("sasl.mechanism.controller.protocol", Kind.STRING, "GSSAPI", doc="SASL mechanism towards controllers."),
    accepted("controller.performance.sample.period.ms", Kind.LONG, 60_000, at_least=100, hidden=True, doc="Time between two reports on the controller's slow events."),
    accepted("controller.performance.always.log.threshold.ms", Kind.LONG, 2_000, at_least=0, hidden=True, doc="Duration from which an event of the controller is always logged."),
    accepted("internal.metadata.log.segment.bytes", Kind.INT, None, hidden=True, doc="Segment size of the metadata log without its lower bound, for tests."),
    accepted("internal.metadata.max.batch.size.in.bytes", Kind.INT, 8_388_608, hidden=True, doc="Largest batch in the metadata log."),
    accepted("internal.metadata.delete.delay.millis", Kind.LONG, 60_000, hidden=True, doc="Time before the files of a dropped metadata segment are removed."),
)
# fmt: on
