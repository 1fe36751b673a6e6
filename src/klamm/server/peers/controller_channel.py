"""ControllerChannel: the way of a node to the active controller, wherever that is. Implements ControllerPort.

It is this node itself, or the leader of the quorum as far as this node knows. Who is not (NOT_CONTROLLER) or does not answer
is asked no more: the channel looks again, and asks whoever leads then, until there is an answer or the time is up.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode, code_of
from klamm.base.ids import METADATA_TOPIC
from klamm.base.principal import KafkaPrincipal
from klamm.base.settings.broker import Settings
from klamm.protocol.apis import APIS, Api
from klamm.protocol.compile import decode, encode
from klamm.protocol.declare import schema_of
from klamm.protocol.messages.add_raft_voter import AddRaftVoterRequest
from klamm.protocol.messages.alter_partition import AlterPartitionRequest
from klamm.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from klamm.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from klamm.protocol.messages.broker_registration import BrokerRegistrationRequest
from klamm.protocol.messages.control import DefaultPrincipalData
from klamm.protocol.messages.create_topics import CreateTopicsResponse
from klamm.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from klamm.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from klamm.protocol.messages.headers import RequestHeader, ResponseHeader
from klamm.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest
from klamm.raft.messages import Address
from klamm.server.controller_port import OPERATIONS_OF_CLIENTS, Origin
from klamm.server.peers.channel import PeerChannel
from klamm.server.peers.way import way_to_controllers
from klamm.server.quorum.voter_changes import add_voter, remove_voter
from klamm.server.world.ports import World

if TYPE_CHECKING:
    from klamm.server.loops.metadata_quorum import MetadataQuorum

# Between two attempts, unless somebody else leads before.
_RETRY_SECONDS = 0.05
_LOOK_AGAIN = (ErrorCode.NOT_CONTROLLER, ErrorCode.NETWORK_EXCEPTION)
# What waits for its turn behind nothing else: a session must not end because topics are created. The rest shares one way.
_LANES: dict[type, str] = {
    BrokerRegistrationRequest: "heartbeat",
    BrokerHeartbeatRequest: "heartbeat",
    AlterPartitionRequest: "alter-partition",
    AssignReplicasToDirsRequest: "directory-assignments",
}
_FORWARDING = "forwarding"
_PRINCIPAL_VERSION = 0


class ControllerChannel:
    def __init__(self, world: World, settings: Settings, quorum: MetadataQuorum) -> None:
        self._world = world
        self._way = way_to_controllers(settings, world.chance)
        self._clock = world.clock
        self._quorum = quorum
        self._node_id = settings.node.node_id
        self._timeout_ms = settings.network.request_timeout_ms
        # By lane; all of them lead to one address.
        self._channels: dict[str, PeerChannel] = {}
        self._address: Address | None = None

    async def ask(self, request: object, *, timeout_ms: Ms | None = None) -> Any:
        """A request of this node's own."""
        return await self._until_answered(request, None, timeout_ms or self._timeout_ms)

    async def forward(self, request: object, origin: Origin) -> Any:
        return await self._until_answered(request, origin, self._timeout_ms)

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()

    def leader_changed(self) -> None:
        """Whoever waits for the one before asks the next one."""
        if self._address is not None and self._address != self._quorum.leader_address:
            self._address = None
            self.close()

    async def _until_answered(self, request: object, origin: Origin | None, wait_ms: Ms) -> Any:
        deadline = self._clock.monotonic() + wait_ms
        while True:
            try:
                return await self._try(request, origin, deadline)
            except ApiError as e:
                if e.code not in _LOOK_AGAIN:
                    raise
            left_ms = deadline - self._clock.monotonic()
            if left_ms <= 0:
                raise ApiError(
                    ErrorCode.REQUEST_TIMED_OUT, "No active controller has answered in time."
                )
            await self._quorum.leader_change(min(_RETRY_SECONDS, left_ms / 1000))

    async def _try(self, request: object, origin: Origin | None, deadline: Ms) -> Any:
        quorum = self._quorum
        if quorum.driver.is_active:
            return await self._ask_here(request, origin)
        if quorum.has_failed:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "The metadata log cannot be written.")
        address = quorum.leader_address
        if address is None or quorum.leader_id == self._node_id:
            raise ApiError(ErrorCode.NOT_CONTROLLER, "There is no active controller yet.")
        left_ms = max(1, deadline - self._clock.monotonic())
        if origin is not None:
            return await self._pass_on(address, request, origin, left_ms)
        channel = self._to(address, _LANES.get(type(request), _FORWARDING))
        return _checked(await channel.ask(request, timeout_ms=left_ms))

    async def _ask_here(self, request: object, origin: Origin | None) -> Any:
        driver = self._quorum.driver
        if origin is not None and type(request) in OPERATIONS_OF_CLIENTS:
            return await driver.forward(request, origin)
        # Who votes is no decision of the controller. This node has begun to lead while it looked for who does.
        if isinstance(request, AddRaftVoterRequest):
            return await add_voter(self._quorum.raft, request)
        if isinstance(request, RemoveRaftVoterRequest):
            return await remove_voter(self._quorum.raft, request)
        if isinstance(request, BrokerRegistrationRequest):
            earlier = driver.image.brokers.get(request.broker_id)
            if earlier is not None and earlier.incarnation_id != request.incarnation_id:
                # Its directories are locked by this process, so that one is gone.
                driver.connection_lost(request.broker_id)
        answer = await driver.ask(request)
        if isinstance(request, BrokerHeartbeatRequest):
            driver.lives_here(request.broker_id)
        return answer

    async def _pass_on(self, address: Address, request: object, origin: Origin, left_ms: Ms) -> Any:
        channel = self._to(address, _FORWARDING)
        api = APIS[_key(request)]
        envelope = EnvelopeRequest(
            request_data=_wrapped(api, request, origin),
            request_principal=_PRINCIPAL_VERSION.to_bytes(2, "big")
            + encode(_described(origin.principal), _PRINCIPAL_VERSION),
            client_host_address=_packed(origin.host),
        )
        answer: EnvelopeResponse = await channel.ask(envelope, timeout_ms=left_ms)
        if answer.error_code:
            raise ApiError(code_of(answer.error_code))
        await self._catch_up(channel, left_ms)
        return _unwrapped(api, answer, origin)

    async def _catch_up(self, channel: PeerChannel, left_ms: Ms) -> None:
        """The answer tells of what is committed, this node's image may not yet: the leader knows how far it must be."""
        topic = DescribeQuorumRequestTopicData(
            topic_name=METADATA_TOPIC,
            partitions=[DescribeQuorumRequestPartitionData(partition_index=0)],
        )
        try:
            quorum = await channel.ask(DescribeQuorumRequest(topics=[topic]), timeout_ms=left_ms)
            end_offset = quorum.topics[0].partitions[0].high_watermark
        except (ApiError, IndexError):
            # What was asked for is done all the same.
            return
        await self._quorum.reached(end_offset, left_ms / 1000)

    def _to(self, address: Address, lane: str) -> PeerChannel:
        if address != self._address:
            self.close()
            self._address = address
        channel = self._channels.get(lane)
        if channel is None:
            channel = self._channels[lane] = PeerChannel(
                self._world,
                address.host,
                address.port,
                client_id=f"{self._node_id}-to-controller-{lane}",
                way=self._way,
            )
        return channel


def _key(request: object) -> int:
    key = schema_of(type(request)).api_key
    assert key is not None
    return key


def _checked(answer: Any) -> Any:
    """What a node asks for itself is refused as a whole, whether here or there."""
    if isinstance(answer, CreateTopicsResponse):
        if any(topic.error_code == ErrorCode.NOT_CONTROLLER for topic in answer.topics):
            raise ApiError(ErrorCode.NOT_CONTROLLER)
    elif code := getattr(answer, "error_code", 0):
        raise ApiError(code_of(code), getattr(answer, "error_message", None))
    return answer


def _described(principal: KafkaPrincipal) -> DefaultPrincipalData:
    return DefaultPrincipalData(
        type=principal.type, name=principal.name, token_authenticated=principal.is_token
    )


def _wrapped(api: Api, request: object, origin: Origin) -> bytes:
    header = RequestHeader(
        request_api_key=api.key,
        request_api_version=origin.version,
        correlation_id=0,
        client_id=origin.client_id,
    )
    body = encode(request, origin.version)
    return encode(header, api.request_header_version(origin.version)) + body


def _unwrapped(api: Api, answer: EnvelopeResponse, origin: Origin) -> Any:
    data = bytes(answer.response_data or b"")
    header_version = api.response_header_version(origin.version)
    head = len(encode(ResponseHeader(), header_version))
    return decode(api.response, origin.version, data[head:])


def _packed(host: str) -> bytes:
    """The bytes of an address. A client that has none, as in a simulated network, stands for this machine."""
    try:
        return ipaddress.ip_address(host).packed
    except ValueError:
        return bytes((127, 0, 0, 1))
