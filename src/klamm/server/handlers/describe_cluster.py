"""DescribeCluster (60), v0-2: cluster id, controller and brokers, without topics.

v1  endpoint type 2 asks for controllers, which only a controller's listener answers (KIP-919)
v2  fenced brokers, if asked for (KIP-1073)
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from klamm.server.authorization.operations import NOT_ASKED
from klamm.server.authorization.rights import ALTER_CLUSTER
from klamm.server.call import Call, cluster_operations
from klamm.server.metadata.addresses import addresses_for, any_broker, controller_addresses

_BROKERS = 1
_CONTROLLERS = 2
_NOBODY = -1


def handle(request: DescribeClusterRequest, call: Call) -> DescribeClusterResponse:
    if call.connection.listener.is_controller:
        # Where controllers are is known to fewer than where brokers are.
        call.require(ALTER_CLUSTER)
    node = call.context
    image = node.image
    here = _CONTROLLERS if call.connection.listener.is_controller else _BROKERS
    if request.endpoint_type not in (_BROKERS, _CONTROLLERS):
        raise ApiError(
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            f"Unsupported endpoint type {request.endpoint_type}",
        )
    if request.endpoint_type != here:
        kind = "broker" if here == _BROKERS else "controller"
        raise ApiError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            f"The request was sent to an endpoint of the wrong type: {kind}.",
        )
    if here == _CONTROLLERS:
        leader_id = node.quorum.leader_id
        controller_id = _NOBODY if leader_id is None else leader_id
        addresses = controller_addresses(call.connection, image)
    else:
        controller_id = any_broker(image, node.world.chance)
        addresses = addresses_for(
            call.connection,
            image,
            node_id=node.node_id,
            with_fenced=request.include_fenced_brokers,
        )
    return DescribeClusterResponse(
        endpoint_type=here,
        cluster_id=image.cluster_id,
        controller_id=controller_id,
        brokers=[
            DescribeClusterBroker(
                broker_id=each.node_id,
                host=each.host,
                port=each.port,
                rack=each.rack,
                is_fenced=each.is_fenced,
            )
            for each in addresses
        ],
        cluster_authorized_operations=(
            cluster_operations(call) if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )
