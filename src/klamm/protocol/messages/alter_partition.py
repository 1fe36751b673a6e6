"""AlterPartition, API 56."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import Array, Int8, Int16, Int32, Int64, field, message, struct


@struct
class BrokerState:
    broker_id: Int32 = 0
    broker_epoch: Int64 = -1


@struct
class AlterPartitionRequestPartitionData:
    partition_index: Int32 = 0
    leader_epoch: Int32 = 0
    new_isr: Array[Int32] = field(until=2, default=[])
    new_isr_with_epochs: Array[BrokerState] = field(since=3, default=[])
    leader_recovery_state: Int8 = 0
    partition_epoch: Int32 = 0


@struct
class AlterPartitionRequestTopicData:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[AlterPartitionRequestPartitionData] = []


@message(api_key=56, versions="2-3", flexible="0+")
class AlterPartitionRequest:
    """A partition leader proposes a new set of in-sync replicas to the controller."""

    broker_id: Int32 = 0
    broker_epoch: Int64 = -1
    topics: Array[AlterPartitionRequestTopicData] = []


@struct
class AlterPartitionResponsePartitionData:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0
    isr: Array[Int32] = []
    leader_recovery_state: Int8 = 0
    partition_epoch: Int32 = 0


@struct
class AlterPartitionResponseTopicData:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[AlterPartitionResponsePartitionData] = []


@message(api_key=56, versions="2-3", flexible="0+")
class AlterPartitionResponse:
    """What the controller made of each proposal, or the state that it holds instead."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    topics: Array[AlterPartitionResponseTopicData] = []
