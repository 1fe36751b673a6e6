"""Share groups and their state. None of it acts yet: the coordinator is not built."""

from klamm.base.settings.checks import ListOf
from klamm.base.settings.declare import Mode, Setting, accepted
from klamm.base.settings.kinds import Kind

# fmt: off
ROWS: tuple[Setting, ...] = (
    accepted("group.share.session.timeout.ms", Kind.INT, 45_000, at_least=1, doc="Time without a heartbeat after which a member leaves its share group."),
    accepted("group.share.min.session.timeout.ms", Kind.INT, 45_000, at_least=1, doc="Lower bound of a share group's session timeout."),
    accepted("group.share.max.session.timeout.ms", Kind.INT, 60_000, at_least=1, doc="Upper bound of a share group's session timeout."),
    accepted("group.share.heartbeat.interval.ms", Kind.INT, 5_000, at_least=1, doc="Time between two heartbeats of a share group member."),
    accepted("group.share.min.heartbeat.interval.ms", Kind.INT, 5_000, at_least=1, doc="Lower bound of a share group's heartbeat interval."),
    accepted("group.share.max.heartbeat.interval.ms", Kind.INT, 15_000, at_least=1, doc="Upper bound of a share group's heartbeat interval."),
    accepted("group.share.max.size", Kind.INT, 200, at_least=1, at_most=1_000, doc="Most members of a share group."),
    accepted("group.share.assignors", Kind.LIST, ("simple",), check=ListOf(may_be_empty=False), doc="Assignor of share groups."),
    accepted("group.share.assignment.interval.ms", Kind.INT, 1_000, at_least=0, mode=Mode.CLUSTER_WIDE, doc="Shortest time between two assignments of a share group."),
    accepted("group.share.min.assignment.interval.ms", Kind.INT, 0, at_least=0, doc="Lower bound of a share group's assignment interval."),
    accepted("group.share.max.assignment.interval.ms", Kind.INT, 15_000, at_least=0, doc="Upper bound of a share group's assignment interval."),
    accepted("group.share.initialize.retry.interval.ms", Kind.INT, 30_000, at_least=1, hidden=True, doc="Pause before a failed set-up of a share partition is tried again."),
    accepted("group.share.delivery.count.limit", Kind.INT, 5, at_least=2, at_most=10, doc="Times a record is handed out before it is given up."),
    accepted("group.share.max.delivery.count.limit", Kind.INT, 10, at_least=5, at_most=25, doc="Upper bound of a share group's delivery count limit."),
    accepted("group.share.min.delivery.count.limit", Kind.INT, 2, at_least=2, at_most=5, doc="Lower bound of a share group's delivery count limit."),
    accepted("group.share.record.lock.duration.ms", Kind.INT, 30_000, at_least=1_000, at_most=3_600_000, doc="Time a member may hold a record before it is handed out again."),
    accepted("group.share.min.record.lock.duration.ms", Kind.INT, 15_000, at_least=1_000, at_most=30_000, doc="Lower bound of a share group's lock duration."),
    accepted("group.share.max.record.lock.duration.ms", Kind.INT, 60_000, at_least=30_000, at_most=3_600_000, doc="Upper bound of a share group's lock duration."),
    accepted("group.share.partition.max.record.locks", Kind.INT, 2_000, at_least=100, at_most=10_000, doc="Records of one partition that may be held at one time."),
    accepted("group.share.max.partition.max.record.locks", Kind.INT, 4_000, at_least=2_000, at_most=10_000, doc="Upper bound of a share group's record locks."),
    accepted("group.share.min.partition.max.record.locks", Kind.INT, 100, at_least=100, at_most=2_000, doc="Lower bound of a share group's record locks."),
    accepted("group.share.max.share.sessions", Kind.INT, 2_000, at_least=1, doc="Share sessions that are kept at one time."),
    accepted("group.share.persister.class.name", Kind.STRING, "org.apache.kafka.server.share.persister.DefaultStatePersister", hidden=True, doc="Java class that stores the state of share groups."),
    accepted("share.fetch.purgatory.purge.interval.requests", Kind.INT, 1_000, doc="How often Kafka sweeps finished share fetches from its waiting room."),
    accepted("share.coordinator.state.topic.num.partitions", Kind.INT, 50, at_least=1, doc="Partitions of the share state topic; not to be changed later."),
    accepted("share.coordinator.state.topic.replication.factor", Kind.SHORT, 3, at_least=1, doc="Replicas of the share state topic."),
    accepted("share.coordinator.state.topic.min.isr", Kind.SHORT, 2, at_least=1, doc="In-sync replicas that the share state topic needs."),
    accepted("share.coordinator.state.topic.segment.bytes", Kind.INT, 104_857_600, at_least=1, doc="Segment size of the share state topic."),
    accepted("share.coordinator.state.topic.compression.codec", Kind.INT, 0, doc="Codec of the share state topic, by number."),
    accepted("share.coordinator.state.topic.prune.interval.ms", Kind.INT, 300_000, at_least=1, hidden=True, doc="Time between two looks for state records that are no longer needed."),
    accepted("share.coordinator.threads", Kind.INT, 1, at_least=1, doc="Threads of Kafka's share coordinator."),
    accepted("share.coordinator.snapshot.update.records.per.snapshot", Kind.INT, 500, at_least=0, at_most=500, doc="Updates that may follow a snapshot of the state before the next one."),
    accepted("share.coordinator.load.buffer.size", Kind.INT, 5_242_880, at_least=1, doc="Bytes read at once while the share state topic is loaded."),
    accepted("share.coordinator.append.linger.ms", Kind.INT, -1, at_least=-1, doc="Time the share coordinator gathers records before it writes them; -1 lets it decide."),
    accepted("share.coordinator.write.timeout.ms", Kind.INT, 5_000, at_least=1, doc="Longest wait until a state record is replicated."),
    accepted("share.coordinator.cold.partition.snapshot.interval.ms", Kind.INT, 300_000, at_least=1, hidden=True, doc="Time between two snapshots of partitions that rest."),
    accepted("share.coordinator.cached.buffer.max.bytes", Kind.INT, 1_048_588, at_least=524_288, mode=Mode.CLUSTER_WIDE, doc="Largest write buffer that the share coordinator keeps."),
)
# fmt: on
