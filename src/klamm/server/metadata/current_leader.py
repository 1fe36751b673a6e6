"""Who leads instead, told with the refusal itself: the client need not ask for metadata first (KIP-951)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from klamm.base.errors import ErrorCode
from klamm.base.ids import Uuid
from klamm.metadata.image import NO_LEADER
from klamm.protocol.messages.produce import LeaderIdAndEpoch, NodeEndpoint, ProduceResponse
from klamm.server.metadata.addresses import NodeAddress, addresses_for
from klamm.server.network.connection import Connection

if TYPE_CHECKING:
    from klamm.server.broker import Broker

_FIRST_PRODUCE = 10
_NO_EPOCH = -1


class CurrentLeader(NamedTuple):
    leader_id: int
    leader_epoch: int


def current_leader(broker: Broker, topic: str | Uuid, index: int) -> CurrentLeader:
    """As the replica here knows it, which may be newer than what clients are told; else as the metadata says."""
    if isinstance(topic, Uuid):
        known = broker.image.topics_by_id.get(topic)
        topic = known.name if known is not None else ""
    partition = broker.replicas.find(topic, index)
    if partition is not None and partition.leader_epoch >= 0:
        return CurrentLeader(partition.leader_id, partition.leader_epoch)
    state = broker.image.partition(topic, index)
    if state is None:
        return CurrentLeader(NO_LEADER, _NO_EPOCH)
    return CurrentLeader(state.leader, state.leader_epoch)


def leader_addresses(
    broker: Broker, connection: Connection, leaders: Iterable[CurrentLeader]
) -> list[NodeAddress]:
    """Where those of them that live are reached."""
    ids = {each.leader_id for each in leaders}
    addresses = addresses_for(connection, broker.image, node_id=broker.node_id)
    return [each for each in addresses if each.node_id in ids]


def tell_leaders(
    response: ProduceResponse, broker: Broker, connection: Connection, version: int
) -> None:
    """Add them to the answer of a produce, where somebody else leads."""
    if version < _FIRST_PRODUCE:
        return
    leaders = []
    for topic in response.responses:
        for each in topic.partition_responses:
            if each.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
                leader = current_leader(broker, topic.name or topic.topic_id, each.index)
                each.current_leader = LeaderIdAndEpoch(
                    leader_id=leader.leader_id, leader_epoch=leader.leader_epoch
                )
                leaders.append(leader)
    if leaders:
        response.node_endpoints = [
            NodeEndpoint(node_id=each.node_id, host=each.host, port=each.port, rack=each.rack)
            for each in leader_addresses(broker, connection, leaders)
        ]
