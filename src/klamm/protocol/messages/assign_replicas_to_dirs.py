"""AssignReplicasToDirs, API 73."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import Array, Int16, Int32, Int64, message, struct


@struct
class AssignReplicasToDirsRequestPartitionData:
    partition_index: Int32 = 0


@struct
class AssignReplicasToDirsRequestTopicData:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[AssignReplicasToDirsRequestPartitionData] = []


@struct
class AssignReplicasToDirsRequestDirectoryData:
    id: Uuid = ZERO_UUID
    topics: Array[AssignReplicasToDirsRequestTopicData] = []


@message(api_key=73, versions="0", flexible="0+")
class AssignReplicasToDirsRequest:
    """A broker tells the controller which log directory holds which replica."""

    broker_id: Int32 = 0
    broker_epoch: Int64 = -1
    directories: Array[AssignReplicasToDirsRequestDirectoryData] = []


@struct
class AssignReplicasToDirsResponsePartitionData:
    partition_index: Int32 = 0
    error_code: Int16 = 0


@struct
class AssignReplicasToDirsResponseTopicData:
    topic_id: Uuid = ZERO_UUID
    partitions: Array[AssignReplicasToDirsResponsePartitionData] = []


@struct
class AssignReplicasToDirsResponseDirectoryData:
    id: Uuid = ZERO_UUID
    topics: Array[AssignReplicasToDirsResponseTopicData] = []


@message(api_key=73, versions="0", flexible="0+")
class AssignReplicasToDirsResponse:
    """The outcome for each replica."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    directories: Array[AssignReplicasToDirsResponseDirectoryData] = []
