"""Topics and partitions."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import Array, Int8, Int32, NullableArray, String, field, message


@message(api_key=2, versions="0", flexible="0+")
class TopicRecord:
    """A topic exists, without partitions yet."""

    name: String = ""
    topic_id: Uuid = ZERO_UUID


@message(api_key=9, versions="0", flexible="0+")
class RemoveTopicRecord:
    """A topic and all its partitions are gone."""

    topic_id: Uuid = ZERO_UUID


@message(api_key=3, versions="0-2", flexible="0+")
class PartitionRecord:
    """A partition exists, with its replicas, leader and in-sync replicas."""

    partition_id: Int32 = -1
    topic_id: Uuid = ZERO_UUID
    replicas: Array[Int32] = []
    isr: Array[Int32] = []
    removing_replicas: Array[Int32] = []
    adding_replicas: Array[Int32] = []
    leader: Int32 = -1
    leader_recovery_state: Int8 = field(tag=0, default=0)
    leader_epoch: Int32 = -1
    partition_epoch: Int32 = -1
    directories: Array[Uuid] = field(since=1, default=[])
    eligible_leader_replicas: NullableArray[Int32] = field(since=2, tag=1, default=None)
    last_known_elr: NullableArray[Int32] = field(since=2, tag=2, default=None)


@message(api_key=5, versions="0-2", flexible="0+")
class PartitionChangeRecord:
    """What changed in a partition.

    Fields that keep their default say that nothing changed there.
    """

    partition_id: Int32 = -1
    topic_id: Uuid = ZERO_UUID
    isr: NullableArray[Int32] = field(tag=0, default=None)
    leader: Int32 = field(tag=1, default=-2)
    replicas: NullableArray[Int32] = field(tag=2, default=None)
    removing_replicas: NullableArray[Int32] = field(tag=3, default=None)
    adding_replicas: NullableArray[Int32] = field(tag=4, default=None)
    leader_recovery_state: Int8 = field(tag=5, default=-1)
    directories: NullableArray[Uuid] = field(since=1, tag=8, default=None)
    eligible_leader_replicas: NullableArray[Int32] = field(since=2, tag=6, default=None)
    last_known_elr: NullableArray[Int32] = field(since=2, tag=7, default=None)


@message(api_key=28, versions="0", flexible="0+")
class ClearElrRecord:
    """Forget the eligible leader replicas of one topic, or of all."""

    topic_name: String = ""
