"""Share partitions, as they stand in __share_group_state."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import Array, Int8, Int16, Int32, Int64, String, field, message, struct


@message(api_key=0, versions="0")
class ShareSnapshotKey:
    """Key of a share partition's full state."""

    group_id: String = ""
    topic_id: Uuid = ZERO_UUID
    partition: Int32 = 0


@struct
class StateBatch:
    first_offset: Int64 = 0
    last_offset: Int64 = 0
    delivery_state: Int8 = 0
    delivery_count: Int16 = 0


@message(api_key=0, versions="0", flexible="0+")
class ShareSnapshotValue:
    """The full state of a share partition; updates before it no longer count."""

    snapshot_epoch: Int32 = 0
    state_epoch: Int32 = 0
    leader_epoch: Int32 = 0
    start_offset: Int64 = 0
    delivery_complete_count: Int32 = field(tag=0, default=-1)
    create_timestamp: Int64 = 0
    write_timestamp: Int64 = 0
    state_batches: Array[StateBatch] = []


@message(api_key=1, versions="0")
class ShareUpdateKey:
    """Key of a share partition's change."""

    group_id: String = ""
    topic_id: Uuid = ZERO_UUID
    partition: Int32 = 0


@message(api_key=1, versions="0", flexible="0+")
class ShareUpdateValue:
    """What changed in a share partition since its last snapshot or update."""

    snapshot_epoch: Int32 = 0
    leader_epoch: Int32 = 0
    start_offset: Int64 = 0
    delivery_complete_count: Int32 = field(tag=0, default=-1)
    state_batches: Array[StateBatch] = []
