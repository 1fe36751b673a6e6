"""Transactions. None of it acts yet: the coordinator is not built."""

from klamm.base.settings.declare import Mode, Setting, accepted
from klamm.base.settings.kinds import Kind

# fmt: off
ROWS: tuple[Setting, ...] = (
    accepted("transaction.state.log.min.isr", Kind.INT, 2, at_least=1, doc="In-sync replicas that the transaction topic needs."),
    accepted("transaction.state.log.load.buffer.size", Kind.INT, 5_242_880, at_least=1, doc="Bytes read at once while the transaction topic is loaded."),
    accepted("transaction.state.log.replication.factor", Kind.SHORT, 3, at_least=1, doc="Replicas of the transaction topic."),
    accepted("transaction.state.log.num.partitions", Kind.INT, 50, at_least=1, doc="Partitions of the transaction topic; not to be changed later."),
    accepted("transaction.state.log.segment.bytes", Kind.INT, 104_857_600, at_least=1, doc="Segment size of the transaction topic."),
    accepted("transaction.partition.verification.enable", Kind.BOOLEAN, True, mode=Mode.CLUSTER_WIDE, doc="Ask the coordinator whether a partition belongs to a running transaction before its records are taken."),
    accepted("transactional.id.expiration.ms", Kind.INT, 604_800_000, at_least=1, doc="Time after which an unused transactional id is forgotten."),
    accepted("transaction.max.timeout.ms", Kind.INT, 900_000, at_least=1, doc="Longest transaction timeout a producer may ask for."),
    accepted("transaction.abort.timed.out.transaction.cleanup.interval.ms", Kind.INT, 10_000, at_least=1, doc="Time between two looks for transactions to abort."),
    accepted("transaction.remove.expired.transaction.cleanup.interval.ms", Kind.INT, 3_600_000, at_least=1, doc="Time between two looks for transactional ids to forget."),
    accepted("transaction.two.phase.commit.enable", Kind.BOOLEAN, False, doc="Let an outside coordinator prepare and end transactions."),
    accepted("add.partitions.to.txn.retry.backoff.max.ms", Kind.INT, 100, at_least=0, doc="Longest time the broker itself retries to add a partition to a transaction."),
    accepted("add.partitions.to.txn.retry.backoff.ms", Kind.INT, 20, at_least=1, doc="Pause between two tries to add a partition to a transaction."),
)
# fmt: on
