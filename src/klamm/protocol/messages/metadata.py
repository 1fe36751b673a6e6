"""Metadata, API 3."""

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.declare import (
    Array,
    Bool,
    Int16,
    Int32,
    NullableArray,
    NullableString,
    String,
    field,
    message,
    struct,
)


@struct
class MetadataRequestTopic:
    topic_id: Uuid = field(since=10, default=ZERO_UUID)
    name: NullableString = field(nullable_since=10, default="")


@message(api_key=3, versions="0-13", flexible="9+")
class MetadataRequest:
    """Ask which brokers there are and who leads which partition.

    Topics: some, all (null) or none (empty).
    """

    topics: NullableArray[MetadataRequestTopic] = field(nullable_since=1, default=[])
    allow_auto_topic_creation: Bool = field(since=4, default=True)
    include_cluster_authorized_operations: Bool = field(since=8, until=10, default=False)
    include_topic_authorized_operations: Bool = field(since=8, default=False)


@struct
class MetadataResponseBroker:
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: NullableString = field(since=1, default=None)


@struct
class MetadataResponsePartition:
    error_code: Int16 = 0
    partition_index: Int32 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = field(since=7, default=-1)
    replica_nodes: Array[Int32] = []
    isr_nodes: Array[Int32] = []
    offline_replicas: Array[Int32] = field(since=5, default=[])


@struct
class MetadataResponseTopic:
    error_code: Int16 = 0
    name: NullableString = field(nullable_since=12, default="")
    topic_id: Uuid = field(since=10, default=ZERO_UUID)
    is_internal: Bool = field(since=1, default=False)
    partitions: Array[MetadataResponsePartition] = []
    topic_authorized_operations: Int32 = field(since=8, default=-0x80000000)


@message(api_key=3, versions="0-13", flexible="9+")
class MetadataResponse:
    """Brokers, topics and partition leaders as this broker knows them."""

    throttle_time_ms: Int32 = field(since=3, default=0)
    brokers: Array[MetadataResponseBroker] = []
    cluster_id: NullableString = field(since=2, default=None)
    controller_id: Int32 = field(since=1, default=-1)
    topics: Array[MetadataResponseTopic] = []
    cluster_authorized_operations: Int32 = field(since=8, until=10, default=-0x80000000)
    error_code: Int16 = field(since=13, default=0)
