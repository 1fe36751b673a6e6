"""DescribeCluster, API 60."""

from klamm.protocol.declare import (
    Array,
    Bool,
    Int8,
    Int16,
    Int32,
    NullableString,
    String,
    field,
    message,
    struct,
)


@message(api_key=60, versions="0-2", flexible="0+")
class DescribeClusterRequest:
    """Ask for the cluster's id and its brokers or controllers."""

    include_cluster_authorized_operations: Bool = False
    endpoint_type: Int8 = field(since=1, default=1)
    include_fenced_brokers: Bool = field(since=2, default=False)


@struct
class DescribeClusterBroker:
    broker_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: NullableString = None
    is_fenced: Bool = field(since=2, default=False)


@message(api_key=60, versions="0-2", flexible="0+")
class DescribeClusterResponse:
    """Cluster id, nodes and which of them is the controller."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = None
    endpoint_type: Int8 = field(since=1, default=1)
    cluster_id: String = ""
    controller_id: Int32 = -1
    brokers: Array[DescribeClusterBroker] = []
    cluster_authorized_operations: Int32 = -0x80000000
