"""The coordinators of this broker. Their machines are imported when there is something to coordinate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from klamm.base.chance import Chance
from klamm.base.settings.broker import Settings
from klamm.coordinator.group.records import FRAMING as GROUP_FRAMING
from klamm.coordinator.transaction.records import FRAMING as TRANSACTION_FRAMING
from klamm.protocol.records.batch import Codec
from klamm.server.coordination.coordinator import Coordinator
from klamm.server.coordination.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from klamm.server.coordination.loading import Topic

if TYPE_CHECKING:
    from klamm.coordinator.group.shard import GroupShard
    from klamm.coordinator.transaction.shard import TransactionShard
    from klamm.server.broker import Broker


def group_coordinator(
    broker: Broker, settings: Settings, chance: Chance
) -> Coordinator[GroupShard]:
    def new_shard(index: int) -> GroupShard:
        from klamm.coordinator.group.shard import GroupShard

        return GroupShard(settings.group, chance)

    group = settings.group
    topic = Topic(
        OFFSETS_TOPIC,
        GROUP_FRAMING,
        Codec(group.offsets_topic_compression_codec),
        group.offsets_load_buffer_size,
        group.offsets_commit_timeout_ms,
    )
    return Coordinator(broker, topic, new_shard)


def transaction_coordinator(
    broker: Broker, settings: Settings, chance: Chance
) -> Coordinator[TransactionShard]:
    def new_shard(index: int) -> TransactionShard:
        from klamm.coordinator.transaction.shard import TransactionShard

        return TransactionShard(settings.transaction, broker.producer_ids)

    topic = Topic(
        TRANSACTIONS_TOPIC,
        TRANSACTION_FRAMING,
        Codec.NONE,
        settings.transaction.transaction_state_log_load_buffer_size,
        # Deviation: Kafka waits for as long as the transaction may take.
        settings.network.request_timeout_ms,
    )
    return Coordinator(broker, topic, new_shard)
