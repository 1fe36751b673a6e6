"""Groups: how long members may be silent, how long offsets are kept, and the topic that they are kept in."""

from dataclasses import dataclass

from klamm.base.settings.checks import ListOf, OneOf
from klamm.base.settings.declare import INT_MAX, Mode, Setting, accepted, setting
from klamm.base.settings.kinds import Kind


# fmt: off
@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    group_coordinator_rebalance_protocols: tuple[str, ...] = setting("group.coordinator.rebalance.protocols", Kind.LIST, ("classic", "consumer", "streams"), check=ListOf(("consumer", "classic", "share", "streams"), may_be_empty=False), doc="Kinds of groups that are served.")
    offsets_topic_replication_factor: int = setting("offsets.topic.replication.factor", Kind.SHORT, 3, at_least=1, doc="Replicas of the offsets topic.")
    offsets_topic_num_partitions: int = setting("offsets.topic.num.partitions", Kind.INT, 50, at_least=1, doc="Partitions of the offsets topic; not to be changed later.")
    offsets_topic_segment_bytes: int = setting("offsets.topic.segment.bytes", Kind.INT, 104_857_600, at_least=1, doc="Segment size of the offsets topic.")
    offsets_topic_compression_codec: int = setting("offsets.topic.compression.codec", Kind.INT, 0, doc="Codec of the offsets topic, by number.")
    offsets_load_buffer_size: int = setting("offsets.load.buffer.size", Kind.INT, 5_242_880, at_least=1, doc="Bytes read at once while the offsets topic is loaded.")
    offsets_commit_timeout_ms: int = setting("offsets.commit.timeout.ms", Kind.INT, 5_000, at_least=1, doc="Longest wait until what a group's coordinator writes is replicated.")
    offset_metadata_max_bytes: int = setting("offset.metadata.max.bytes", Kind.INT, 4_096, doc="Longest text a consumer may attach to a commit.")
    offsets_retention_minutes: int = setting("offsets.retention.minutes", Kind.INT, 10_080, at_least=1, doc="Time after which the offsets of an empty group are dropped.")
    offsets_retention_check_interval_ms: int = setting("offsets.retention.check.interval.ms", Kind.LONG, 600_000, at_least=1, doc="Time between two looks for offsets to drop.")
    group_min_session_timeout_ms: int = setting("group.min.session.timeout.ms", Kind.INT, 6_000, doc="Shortest session timeout a classic consumer may ask for.")
    group_max_session_timeout_ms: int = setting("group.max.session.timeout.ms", Kind.INT, 1_800_000, doc="Longest session timeout a classic consumer may ask for.")
    group_initial_rebalance_delay_ms: int = setting("group.initial.rebalance.delay.ms", Kind.INT, 3_000, doc="Time an empty classic group waits for more members before its first round.")
    group_max_size: int = setting("group.max.size", Kind.INT, INT_MAX, at_least=1, doc="Most members of a classic group.")
    group_consumer_session_timeout_ms: int = setting("group.consumer.session.timeout.ms", Kind.INT, 45_000, at_least=1, doc="Time without a heartbeat after which a consumer leaves its group.")
    group_consumer_min_session_timeout_ms: int = setting("group.consumer.min.session.timeout.ms", Kind.INT, 45_000, at_least=1, doc="Lower bound of a consumer group's session timeout.")
    group_consumer_max_session_timeout_ms: int = setting("group.consumer.max.session.timeout.ms", Kind.INT, 60_000, at_least=1, doc="Upper bound of a consumer group's session timeout.")
    group_consumer_heartbeat_interval_ms: int = setting("group.consumer.heartbeat.interval.ms", Kind.INT, 5_000, at_least=1, doc="Time between two heartbeats of a consumer.")
    group_consumer_min_heartbeat_interval_ms: int = setting("group.consumer.min.heartbeat.interval.ms", Kind.INT, 5_000, at_least=1, doc="Lower bound of a consumer group's heartbeat interval.")
    group_consumer_max_heartbeat_interval_ms: int = setting("group.consumer.max.heartbeat.interval.ms", Kind.INT, 15_000, at_least=1, doc="Upper bound of a consumer group's heartbeat interval.")
    group_consumer_max_size: int = setting("group.consumer.max.size", Kind.INT, INT_MAX, at_least=1, doc="Most members of a consumer group.")
    group_consumer_assignors: tuple[str, ...] = setting("group.consumer.assignors", Kind.LIST, ("uniform", "range"), check=ListOf(("uniform", "range"), may_be_empty=False), doc="Assignors on the broker; the first is the default.")
    group_consumer_migration_policy: str = setting("group.consumer.migration.policy", Kind.STRING, "bidirectional", check=OneOf(("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"), any_case=True), doc="Which way a group may change between the classic and the consumer protocol.")
    group_consumer_assignment_interval_ms: int = setting("group.consumer.assignment.interval.ms", Kind.INT, 1_000, at_least=0, mode=Mode.CLUSTER_WIDE, doc="Shortest time between two assignments of a consumer group.")
    group_consumer_min_assignment_interval_ms: int = setting("group.consumer.min.assignment.interval.ms", Kind.INT, 0, at_least=0, doc="Lower bound of a consumer group's assignment interval.")
    group_consumer_max_assignment_interval_ms: int = setting("group.consumer.max.assignment.interval.ms", Kind.INT, 15_000, at_least=0, doc="Upper bound of a consumer group's assignment interval.")
    group_consumer_regex_refresh_interval_ms: int = setting("group.consumer.regex.refresh.interval.ms", Kind.INT, 600_000, at_least=10_000, hidden=True, doc="Time between two looks for topics that match a subscribed pattern.")


ROWS: tuple[Setting, ...] = (
    accepted("group.coordinator.threads", Kind.INT, 4, at_least=1, doc="Threads of Kafka's group coordinator."),
    accepted("group.coordinator.background.threads", Kind.INT, 2, at_least=1, doc="Threads for the background work of Kafka's group coordinator."),
    accepted("group.coordinator.append.linger.ms", Kind.INT, -1, at_least=-1, doc="Time the group coordinator gathers records before it writes them; -1 lets it decide."),
    accepted("group.coordinator.cached.buffer.max.bytes", Kind.INT, 1_048_588, at_least=524_288, mode=Mode.CLUSTER_WIDE, doc="Largest write buffer that the group coordinator keeps."),
    accepted("group.streams.session.timeout.ms", Kind.INT, 45_000, at_least=1, doc="Time without a heartbeat after which a Streams member leaves its group."),
    accepted("group.streams.min.session.timeout.ms", Kind.INT, 45_000, at_least=1, doc="Lower bound of a Streams group's session timeout."),
    accepted("group.streams.max.session.timeout.ms", Kind.INT, 60_000, at_least=1, doc="Upper bound of a Streams group's session timeout."),
    accepted("group.streams.heartbeat.interval.ms", Kind.INT, 5_000, at_least=1, doc="Time between two heartbeats of a Streams member."),
    accepted("group.streams.min.heartbeat.interval.ms", Kind.INT, 5_000, at_least=1, doc="Lower bound of a Streams group's heartbeat interval."),
    accepted("group.streams.max.heartbeat.interval.ms", Kind.INT, 15_000, at_least=1, doc="Upper bound of a Streams group's heartbeat interval."),
    accepted("group.streams.max.size", Kind.INT, INT_MAX, at_least=1, doc="Most members of a Streams group."),
    accepted("group.streams.num.standby.replicas", Kind.INT, 0, at_least=0, doc="Standby copies of each Streams task."),
    accepted("group.streams.max.standby.replicas", Kind.INT, 2, at_least=0, doc="Upper bound of the standby copies of a Streams group."),
    accepted("group.streams.initial.rebalance.delay.ms", Kind.INT, 3_000, at_least=0, doc="Time an empty Streams group waits for more members before its first assignment."),
    accepted("group.streams.assignment.interval.ms", Kind.INT, 1_000, at_least=0, mode=Mode.CLUSTER_WIDE, doc="Shortest time between two assignments of a Streams group."),
    accepted("group.streams.min.assignment.interval.ms", Kind.INT, 0, at_least=0, doc="Lower bound of a Streams group's assignment interval."),
    accepted("group.streams.max.assignment.interval.ms", Kind.INT, 15_000, at_least=0, doc="Upper bound of a Streams group's assignment interval."),
)
# fmt: on
