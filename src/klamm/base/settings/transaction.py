"""Transactions: how long they and their ids may live, and the topic that they are kept in."""

from dataclasses import dataclass

from klamm.base.settings.declare import Mode, Setting, accepted, setting
from klamm.base.settings.kinds import Kind


# fmt: off
@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSettings:
    transaction_state_log_min_isr: int = setting("transaction.state.log.min.isr", Kind.INT, 2, at_least=1, doc="In-sync replicas that the transaction topic needs.")
    transaction_state_log_load_buffer_size: int = setting("transaction.state.log.load.buffer.size", Kind.INT, 5_242_880, at_least=1, doc="Bytes read at once while the transaction topic is loaded.")
    transaction_state_log_replication_factor: int = setting("transaction.state.log.replication.factor", Kind.SHORT, 3, at_least=1, doc="Replicas of the transaction topic.")
    transaction_state_log_num_partitions: int = setting("transaction.state.log.num.partitions", Kind.INT, 50, at_least=1, doc="Partitions of the transaction topic; not to be changed later.")
    transaction_state_log_segment_bytes: int = setting("transaction.state.log.segment.bytes", Kind.INT, 104_857_600, at_least=1, doc="Segment size of the transaction topic.")
    transaction_partition_verification_enable: bool = setting("transaction.partition.verification.enable", Kind.BOOLEAN, True, mode=Mode.CLUSTER_WIDE, doc="Ask the coordinator whether a partition belongs to a running transaction before its records are taken.")
    transactional_id_expiration_ms: int = setting("transactional.id.expiration.ms", Kind.INT, 604_800_000, at_least=1, doc="Time after which an unused transactional id is forgotten.")
    transaction_max_timeout_ms: int = setting("transaction.max.timeout.ms", Kind.INT, 900_000, at_least=1, doc="Longest transaction timeout a producer may ask for.")
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = setting("transaction.abort.timed.out.transaction.cleanup.interval.ms", Kind.INT, 10_000, at_least=1, doc="Time between two looks for transactions to abort.")
    transaction_remove_expired_transaction_cleanup_interval_ms: int = setting("transaction.remove.expired.transaction.cleanup.interval.ms", Kind.INT, 3_600_000, at_least=1, doc="Time between two looks for transactional ids to forget.")
    add_partitions_to_txn_retry_backoff_max_ms: int = setting("add.partitions.to.txn.retry.backoff.max.ms", Kind.INT, 100, at_least=0, doc="Longest time the broker itself retries to add a partition to a transaction.")
    add_partitions_to_txn_retry_backoff_ms: int = setting("add.partitions.to.txn.retry.backoff.ms", Kind.INT, 20, at_least=1, doc="Pause between two tries to add a partition to a transaction.")


ROWS: tuple[Setting, ...] = (
    accepted("transaction.two.phase.commit.enable", Kind.BOOLEAN, False, doc="Let an outside coordinator prepare and end transactions."),
)
# fmt: on
