"""Copying partitions between brokers: how followers fetch, and when one of them is no longer in sync."""

from dataclasses import dataclass

from klamm.base.settings.declare import Mode, Setting, accepted, setting
from klamm.base.settings.kinds import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationSettings:
    lag_time_max_ms: int = setting(
        "replica.lag.time.max.ms",
        Kind.LONG,
        30_000,
        doc="Time after which a follower that has not caught up leaves the in-sync replicas.",
    )
    socket_timeout_ms: int = setting(
        "replica.socket.timeout.ms",
        Kind.INT,
        30_000,
        doc="Longest wait of a follower for the answer to a fetch.",
    )
    fetch_max_bytes: int = setting(
        "replica.fetch.max.bytes",
        Kind.INT,
        1_048_576,
        at_least=0,
        doc="Bytes of one partition that a follower asks for at once.",
    )
    fetch_wait_max_ms: int = setting(
        "replica.fetch.wait.max.ms",
        Kind.INT,
        500,
        doc="Longest time a leader may hold a follower's fetch.",
    )
    fetch_backoff_ms: int = setting(
        "replica.fetch.backoff.ms",
        Kind.INT,
        1_000,
        at_least=0,
        doc="Pause of a follower after a failed fetch.",
    )
    fetch_min_bytes: int = setting(
        "replica.fetch.min.bytes",
        Kind.INT,
        1,
        doc="Bytes a follower waits for, up to `replica.fetch.wait.max.ms`.",
    )
    fetch_response_max_bytes: int = setting(
        "replica.fetch.response.max.bytes",
        Kind.INT,
        10_485_760,
        at_least=0,
        doc="Bytes of one answer to a follower.",
    )
    num_fetchers: int = setting(
        "num.replica.fetchers",
        Kind.INT,
        1,
        at_least=1,
        mode=Mode.CLUSTER_WIDE,
        doc="Connections with which a follower fetches from each leader.",
    )
    auto_leader_rebalance_enable: bool = setting(
        "auto.leader.rebalance.enable",
        Kind.BOOLEAN,
        True,
        doc="Give leadership back to the preferred replicas from time to time.",
    )
    leader_imbalance_check_interval_seconds: int = setting(
        "leader.imbalance.check.interval.seconds",
        Kind.LONG,
        300,
        at_least=1,
        doc="Time between two looks for leaders that are not the preferred replicas.",
    )
    unclean_election_interval_ms: int = setting(
        "unclean.leader.election.interval.ms",
        Kind.LONG,
        300_000,
        at_least=1,
        hidden=True,
        doc="Time between two tries to elect leaders from replicas that are not in sync.",
    )
    # Deviation: only the classes that come with Kafka; there is no JVM to load another.
    selector_class: str | None = setting(
        "replica.selector.class",
        Kind.STRING,
        None,
        one_of=(
            "org.apache.kafka.common.replica.LeaderSelector",
            "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        ),
        doc="Java class that chooses the replica a consumer reads from: the leader, or one in its rack.",
    )


# fmt: off
ROWS: tuple[Setting, ...] = (
    accepted("controller.socket.timeout.ms", Kind.INT, 30_000, doc="Socket timeout between broker and controller."),
    accepted("replica.socket.receive.buffer.bytes", Kind.INT, 65_536, doc="Receive buffer of a follower's fetches."),
    accepted("follower.fetch.last.tiered.offset.enable", Kind.BOOLEAN, False, mode=Mode.CLUSTER_WIDE, doc="Let a new follower begin at the last offset in tiered storage."),
)
# fmt: on
