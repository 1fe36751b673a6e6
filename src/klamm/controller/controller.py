"""Controller: who may change what the cluster knows. It routes to the managers and holds no rules of its own.

It reads the newest image, appended but perhaps not yet committed, so that each decision builds on the one
before; it returns records and never writes them. The shell appends them, replays them, and puts the image
that follows into `image`.
"""

from __future__ import annotations

from typing import cast

from klamm.base.chance import Chance
from klamm.base.clock import Ms, Now
from klamm.base.principal import KafkaPrincipal
from klamm.base.settings.broker import Settings, topic_settings
from klamm.base.settings.describe import Layers
from klamm.controller import brokers, configs, features, fencing, producer_ids, topics
from klamm.controller.clients import acls, client_quotas, delegation_tokens, scram
from klamm.controller.decision import Context, Decision, ReplyT
from klamm.controller.heartbeats import NEVER, Heartbeats
from klamm.controller.partitions import directories, election, isr, reassignments
from klamm.controller.partitions.balance import Balance
from klamm.metadata.image import ClusterImage
from klamm.metadata.records.configs import ConfigRecord
from klamm.metadata.records.log import NoOpRecord
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from klamm.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
)
from klamm.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from klamm.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
)
from klamm.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from klamm.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from klamm.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from klamm.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from klamm.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from klamm.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from klamm.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from klamm.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from klamm.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from klamm.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from klamm.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from klamm.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from klamm.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from klamm.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from klamm.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from klamm.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from klamm.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from klamm.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from klamm.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse

_BEGINNING = Now(0, 0)


class Controller:
    __slots__ = (
        "_balance",
        "_chance",
        "_heartbeats",
        "_layers",
        "_settings",
        "_sweep_at",
        "_sweep_every",
        "_topic_defaults",
        "image",
        "kraft_version",
    )

    def __init__(
        self, image: ClusterImage, settings: Settings, chance: Chance, now: Now = _BEGINNING
    ) -> None:
        self.image = image
        self._heartbeats = Heartbeats(image, settings.node.session_timeout_ms, now.monotonic)
        self._balance = Balance(settings.replication, now.monotonic)
        self._settings = settings
        self._sweep_every = cast(Ms, settings.value("delegation.token.expiry.check.interval.ms"))
        self._sweep_at = now.monotonic + self._sweep_every
        self._chance = chance
        self._layers = Layers(settings, {}, {})
        # As it holds when a decision is made.
        self.kraft_version = 0
        self._topic_defaults = settings.topic_defaults

    def create_topics(
        self, request: CreateTopicsRequest, now: Now
    ) -> Decision[CreateTopicsResponse]:
        return topics.create(self._context(now), request)

    def delete_topics(
        self, request: DeleteTopicsRequest, now: Now
    ) -> Decision[DeleteTopicsResponse]:
        return topics.delete(self._context(now), request)

    def create_partitions(
        self, request: CreatePartitionsRequest, now: Now
    ) -> Decision[CreatePartitionsResponse]:
        return topics.create_partitions(self._context(now), request)

    def elect_leaders(
        self, request: ElectLeadersRequest, now: Now
    ) -> Decision[ElectLeadersResponse]:
        return election.elect(self._context(now), request)

    def alter_configs(
        self, request: AlterConfigsRequest, now: Now
    ) -> Decision[AlterConfigsResponse]:
        return self._after(configs.alter(self._context(now), request), now)

    def incremental_alter_configs(
        self, request: IncrementalAlterConfigsRequest, now: Now
    ) -> Decision[IncrementalAlterConfigsResponse]:
        return self._after(configs.alter_incrementally(self._context(now), request), now)

    def _after(self, decision: Decision[ReplyT], now: Now) -> Decision[ReplyT]:
        """Whoever allows unclean elections wants a leader now."""
        if any(
            isinstance(each, ConfigRecord) and each.name == "unclean.leader.election.enable"
            for each in decision.records
        ):
            self._balance.look_for_leaders(now.monotonic)
        return decision

    def alter_user_scram_credentials(
        self, request: AlterUserScramCredentialsRequest, now: Now
    ) -> Decision[AlterUserScramCredentialsResponse]:
        return scram.alter(self._context(now), request)

    def create_delegation_token(
        self, request: CreateDelegationTokenRequest, requester: KafkaPrincipal, now: Now
    ) -> Decision[CreateDelegationTokenResponse]:
        return delegation_tokens.create(self._context(now), request, requester)

    def renew_delegation_token(
        self, request: RenewDelegationTokenRequest, requester: KafkaPrincipal, now: Now
    ) -> Decision[RenewDelegationTokenResponse]:
        return delegation_tokens.renew(self._context(now), request, requester)

    def expire_delegation_token(
        self, request: ExpireDelegationTokenRequest, requester: KafkaPrincipal, now: Now
    ) -> Decision[ExpireDelegationTokenResponse]:
        return delegation_tokens.expire(self._context(now), request, requester)

    def alter_client_quotas(
        self, request: AlterClientQuotasRequest, now: Now
    ) -> Decision[AlterClientQuotasResponse]:
        return client_quotas.alter(self._context(now), request)

    def create_acls(self, request: CreateAclsRequest, now: Now) -> Decision[CreateAclsResponse]:
        return acls.create(self._context(now), request)

    def delete_acls(self, request: DeleteAclsRequest, now: Now) -> Decision[DeleteAclsResponse]:
        return acls.delete(self._context(now), request)

    def update_features(
        self, request: UpdateFeaturesRequest, now: Now
    ) -> Decision[UpdateFeaturesResponse]:
        return features.update(self._context(now), request)

    def allocate_producer_ids(
        self, request: AllocateProducerIdsRequest, now: Now
    ) -> Decision[AllocateProducerIdsResponse]:
        return producer_ids.allocate(self._context(now), request)

    def register_controller(
        self, request: ControllerRegistrationRequest, now: Now
    ) -> Decision[ControllerRegistrationResponse]:
        return brokers.register_controller(self._context(now), request)

    def register_broker(
        self, request: BrokerRegistrationRequest, now: Now
    ) -> Decision[BrokerRegistrationResponse]:
        return brokers.register(self._context(now), self._heartbeats, request, now.monotonic)

    def unregister_broker(
        self, request: UnregisterBrokerRequest, now: Now
    ) -> Decision[UnregisterBrokerResponse]:
        return brokers.unregister(self._context(now), self._heartbeats, request)

    def heartbeat(
        self, request: BrokerHeartbeatRequest, now: Now
    ) -> Decision[BrokerHeartbeatResponse]:
        return fencing.heartbeat(self._context(now), self._heartbeats, request, now.monotonic)

    def alter_partition(
        self, request: AlterPartitionRequest, now: Now
    ) -> Decision[AlterPartitionResponse]:
        return isr.alter(self._context(now), request)

    def assign_replicas_to_dirs(
        self, request: AssignReplicasToDirsRequest, now: Now
    ) -> Decision[AssignReplicasToDirsResponse]:
        return directories.assign(self._context(now), request)

    def alter_partition_reassignments(
        self, request: AlterPartitionReassignmentsRequest, now: Now
    ) -> Decision[AlterPartitionReassignmentsResponse]:
        return reassignments.alter(self._context(now), request)

    def list_partition_reassignments(
        self, request: ListPartitionReassignmentsRequest, now: Now
    ) -> Decision[ListPartitionReassignmentsResponse]:
        return reassignments.list_ongoing(self._context(now), request)

    def connection_lost(self, broker_id: int, now: Now) -> Decision[None]:
        """The broker's process is gone: it need not be waited for."""
        broker = self.image.brokers.get(broker_id)
        if broker is None or broker.is_fenced:
            return Decision(None)
        return Decision(None, fencing.fence(self._context(now), broker))

    def lives_here(self, broker_id: int) -> None:
        """The broker of this very process: it lives as long as the controller does, without heartbeats."""
        broker = self.image.brokers.get(broker_id)
        if broker is not None:
            self._heartbeats.of(broker, NEVER).last_contact = NEVER

    # Time

    @property
    def next_wake(self) -> Ms:
        """When `wake` has something to do, in monotonic time."""
        sweep_at = self._sweep_at if self.image.delegation_tokens else NEVER
        return min(self._heartbeats.next_expiry(self.image), self._balance.next_wake, sweep_at)

    def wake(self, now: Now) -> Decision[None]:
        """One of the things that are due; more may be left, as next_wake says then."""
        silent = self._heartbeats.first_expired(self.image, now.monotonic)
        if silent is not None:
            return Decision(None, fencing.fence(self._context(now), self.image.brokers[silent]))
        if now.monotonic >= self._sweep_at:
            self._sweep_at = now.monotonic + self._sweep_every
            return Decision(None, delegation_tokens.sweep(self.image, now.wall))
        return Decision(None, self._balance.wake(self._context(now), now.monotonic))

    def silent_since(self, broker_id: int, at: Ms) -> None:
        """What a new controller knows of one broker: it need not be given a whole session."""
        self._heartbeats.silent_since(broker_id, at)

    def slept(self, ms: Ms) -> None:
        """The controller itself was away for so long: nobody is held to have been silent."""
        self._heartbeats.put_off(ms)

    def keep_alive(self, now: Now) -> Decision[None]:
        """An idle log still moves, so that everybody can see that its leader lives."""
        return Decision(None, [NoOpRecord()])

    def _context(self, now: Now) -> Context:
        image = self.image
        broker = image.config(ResourceType.BROKER, str(self._settings.node.node_id))
        cluster = image.config(ResourceType.BROKER, "")
        # Images share what did not change: the same objects mean that nothing has to be worked out again.
        if self._layers.broker is not broker or self._layers.cluster is not cluster:
            self._layers = Layers(self._settings, broker, cluster)
            self._topic_defaults = topic_settings(self._settings, self._layers.dynamic)
        return Context(
            image, self._layers, self._topic_defaults, self._chance, now, self.kraft_version
        )
