"""AlterReplicaLogDirs, API 34."""

from klamm.protocol.declare import Array, Int16, Int32, String, message, struct


@struct
class AlterReplicaLogDirTopic:
    name: String = ""
    partitions: Array[Int32] = []


@struct
class AlterReplicaLogDir:
    path: String = ""
    topics: Array[AlterReplicaLogDirTopic] = []


@message(api_key=34, versions="1-2", flexible="2+")
class AlterReplicaLogDirsRequest:
    """Move replicas between the log directories of one broker."""

    dirs: Array[AlterReplicaLogDir] = []


@struct
class AlterReplicaLogDirPartitionResult:
    partition_index: Int32 = 0
    error_code: Int16 = 0


@struct
class AlterReplicaLogDirTopicResult:
    topic_name: String = ""
    partitions: Array[AlterReplicaLogDirPartitionResult] = []


@message(api_key=34, versions="1-2", flexible="2+")
class AlterReplicaLogDirsResponse:
    """The outcome for each replica."""

    throttle_time_ms: Int32 = 0
    results: Array[AlterReplicaLogDirTopicResult] = []
