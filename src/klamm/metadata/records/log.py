"""Records about the metadata log itself: its transactions, its heartbeat and its past."""

from klamm.protocol.declare import Int8, NullableString, field, message


@message(api_key=23, versions="0", flexible="0+")
class BeginTransactionRecord:
    """The records up to the end of the transaction count together or not at all."""

    name: NullableString = field(tag=0, default=None)


@message(api_key=24, versions="0", flexible="0+")
class EndTransactionRecord:
    """The records since the beginning of the transaction count."""


@message(api_key=25, versions="0", flexible="0+")
class AbortTransactionRecord:
    """The records since the beginning of the transaction do not count."""

    reason: NullableString = field(tag=0, default=None)


@message(api_key=20, versions="0", flexible="0+")
class NoOpRecord:
    """Says nothing. The active controller writes it so that the log keeps moving."""


@message(api_key=21, versions="0", flexible="0+")
class ZkMigrationStateRecord:
    """How far a migration from ZooKeeper had come. Nothing writes it any more, old logs hold it."""

    zk_migration_state: Int8 = 0
