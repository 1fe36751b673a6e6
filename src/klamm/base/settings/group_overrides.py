"""What a group may set for itself; the broker's setting of the same name under `group.` stands in where it does not.

What is said of consumers acts; share groups and Streams groups are not built yet.
"""

from klamm.base.settings.checks import OffsetReset
from klamm.base.settings.declare import Setting, Synonym, accepted, row
from klamm.base.settings.kinds import Kind


def _broker(name: str) -> tuple[Synonym, ...]:
    return (Synonym(f"group.{name}"),)


# fmt: off
ROWS: tuple[Setting, ...] = (
    row("consumer.session.timeout.ms", Kind.INT, 45_000, at_least=1, synonyms=_broker("consumer.session.timeout.ms"), doc="Time without a heartbeat after which a consumer leaves the group."),
    row("consumer.heartbeat.interval.ms", Kind.INT, 5_000, at_least=1, synonyms=_broker("consumer.heartbeat.interval.ms"), doc="Time between two heartbeats of a consumer."),
    row("consumer.assignment.interval.ms", Kind.INT, 1_000, at_least=0, synonyms=_broker("consumer.assignment.interval.ms"), doc="Shortest time between two assignments of the consumers."),
    accepted("share.session.timeout.ms", Kind.INT, 45_000, at_least=1, synonyms=_broker("share.session.timeout.ms"), doc="Time without a heartbeat after which a member leaves the share group."),
    accepted("share.heartbeat.interval.ms", Kind.INT, 5_000, at_least=1, synonyms=_broker("share.heartbeat.interval.ms"), doc="Time between two heartbeats of a member of the share group."),
    accepted("share.record.lock.duration.ms", Kind.INT, 30_000, at_least=1_000, synonyms=_broker("share.record.lock.duration.ms"), doc="Time a member may hold a record before it is handed out again."),
    accepted("share.delivery.count.limit", Kind.INT, 5, at_least=2, synonyms=_broker("share.delivery.count.limit"), doc="Times a record is handed out before it is given up."),
    accepted("share.partition.max.record.locks", Kind.INT, 2_000, at_least=100, synonyms=_broker("share.partition.max.record.locks"), doc="Records of one partition that may be held at one time."),
    accepted("share.auto.offset.reset", Kind.STRING, "latest", check=OffsetReset(), doc="Where a new share group begins to read."),
    accepted("share.isolation.level", Kind.STRING, "read_uncommitted", one_of=("read_committed", "read_uncommitted"), doc="Whether a share group sees records of open transactions."),
    accepted("share.renew.acknowledge.enable", Kind.BOOLEAN, True, doc="Let members prolong their hold on a record."),
    accepted("share.assignment.interval.ms", Kind.INT, 1_000, at_least=0, synonyms=_broker("share.assignment.interval.ms"), doc="Shortest time between two assignments of the share group."),
    accepted("streams.session.timeout.ms", Kind.INT, 45_000, at_least=1, synonyms=_broker("streams.session.timeout.ms"), doc="Time without a heartbeat after which a member leaves the Streams group."),
    accepted("streams.heartbeat.interval.ms", Kind.INT, 5_000, at_least=1, synonyms=_broker("streams.heartbeat.interval.ms"), doc="Time between two heartbeats of a member of the Streams group."),
    accepted("streams.num.standby.replicas", Kind.INT, 0, at_least=0, synonyms=_broker("streams.num.standby.replicas"), doc="Standby copies of each Streams task."),
    accepted("streams.initial.rebalance.delay.ms", Kind.INT, 3_000, at_least=0, synonyms=_broker("streams.initial.rebalance.delay.ms"), doc="Time an empty Streams group waits for more members before its first assignment."),
    accepted("streams.assignment.interval.ms", Kind.INT, 1_000, at_least=0, synonyms=_broker("streams.assignment.interval.ms"), doc="Shortest time between two assignments of the Streams group."),
)
# fmt: on
