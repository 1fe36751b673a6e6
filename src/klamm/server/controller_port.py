"""ControllerPort: how the rest of a broker asks the active controller, by message.

Whether the controller is in this process or another node's is not the asker's affair. The answer comes when the change is
committed and the asker's own image has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, overload

from klamm.base.clock import Now
from klamm.base.principal import KafkaPrincipal
from klamm.controller.controller import Controller
from klamm.controller.decision import Decision
from klamm.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from klamm.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from klamm.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from klamm.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from klamm.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from klamm.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
)
from klamm.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from klamm.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from klamm.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from klamm.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from klamm.protocol.messages.create_acls import CreateAclsRequest
from klamm.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from klamm.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from klamm.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from klamm.protocol.messages.delete_acls import DeleteAclsRequest
from klamm.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from klamm.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from klamm.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from klamm.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from klamm.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from klamm.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from klamm.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from klamm.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse

ControllerRequest = (
    AllocateProducerIdsRequest
    | AlterClientQuotasRequest
    | AlterConfigsRequest
    | AlterPartitionReassignmentsRequest
    | AlterPartitionRequest
    | AlterUserScramCredentialsRequest
    | AssignReplicasToDirsRequest
    | BrokerHeartbeatRequest
    | BrokerRegistrationRequest
    | ControllerRegistrationRequest
    | CreateAclsRequest
    | CreatePartitionsRequest
    | CreateTopicsRequest
    | DeleteAclsRequest
    | DeleteTopicsRequest
    | ElectLeadersRequest
    | IncrementalAlterConfigsRequest
    | ListPartitionReassignmentsRequest
    | UnregisterBrokerRequest
    | UpdateFeaturesRequest
)
# What the controller does with each message.
OPERATIONS: dict[type, Callable[[Controller, Any, Now], Decision[Any]]] = {
    AllocateProducerIdsRequest: Controller.allocate_producer_ids,
    AlterClientQuotasRequest: Controller.alter_client_quotas,
    AlterConfigsRequest: Controller.alter_configs,
    AlterPartitionReassignmentsRequest: Controller.alter_partition_reassignments,
    AlterPartitionRequest: Controller.alter_partition,
    AlterUserScramCredentialsRequest: Controller.alter_user_scram_credentials,
    AssignReplicasToDirsRequest: Controller.assign_replicas_to_dirs,
    BrokerHeartbeatRequest: Controller.heartbeat,
    BrokerRegistrationRequest: Controller.register_broker,
    ControllerRegistrationRequest: Controller.register_controller,
    CreateAclsRequest: Controller.create_acls,
    CreatePartitionsRequest: Controller.create_partitions,
    CreateTopicsRequest: Controller.create_topics,
    DeleteAclsRequest: Controller.delete_acls,
    DeleteTopicsRequest: Controller.delete_topics,
    ElectLeadersRequest: Controller.elect_leaders,
    IncrementalAlterConfigsRequest: Controller.incremental_alter_configs,
    ListPartitionReassignmentsRequest: Controller.list_partition_reassignments,
    UnregisterBrokerRequest: Controller.unregister_broker,
    UpdateFeaturesRequest: Controller.update_features,
}
# What it does in the name of a client, and of nobody else.
OPERATIONS_OF_CLIENTS: dict[
    type, Callable[[Controller, Any, KafkaPrincipal, Now], Decision[Any]]
] = {
    CreateDelegationTokenRequest: Controller.create_delegation_token,
    ExpireDelegationTokenRequest: Controller.expire_delegation_token,
    RenewDelegationTokenRequest: Controller.renew_delegation_token,
}


class Origin(NamedTuple):
    """The client in whose name a broker asks: its request is passed on as it came, in an Envelope."""

    version: int
    client_id: str | None
    host: str
    principal: KafkaPrincipal


class ControllerPort(Protocol):
    """ApiError: the controller refuses the whole request, or there is none that could be asked."""

    async def forward(self, request: object, origin: Origin) -> Any:
        """A client's request. The answer, refusals in it, comes when this node's own image shows what was changed."""
        ...

    @overload
    async def ask(self, request: AllocateProducerIdsRequest) -> AllocateProducerIdsResponse: ...
    @overload
    async def ask(self, request: AlterConfigsRequest) -> AlterConfigsResponse: ...
    @overload
    async def ask(self, request: CreatePartitionsRequest) -> CreatePartitionsResponse: ...
    @overload
    async def ask(self, request: CreateTopicsRequest) -> CreateTopicsResponse: ...
    @overload
    async def ask(self, request: DeleteTopicsRequest) -> DeleteTopicsResponse: ...
    @overload
    async def ask(self, request: ElectLeadersRequest) -> ElectLeadersResponse: ...
    @overload
    async def ask(
        self, request: IncrementalAlterConfigsRequest
    ) -> IncrementalAlterConfigsResponse: ...
    @overload
    async def ask(self, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse: ...
    @overload
    async def ask(self, request: AlterPartitionRequest) -> AlterPartitionResponse: ...
    @overload
    async def ask(self, request: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse: ...
    @overload
    async def ask(self, request: BrokerRegistrationRequest) -> BrokerRegistrationResponse: ...
    @overload
    async def ask(
        self, request: ControllerRegistrationRequest
    ) -> ControllerRegistrationResponse: ...
    @overload
    async def ask(self, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse: ...
    @overload
    async def ask(
        self, request: AlterPartitionReassignmentsRequest
    ) -> AlterPartitionReassignmentsResponse: ...
    @overload
    async def ask(self, request: AssignReplicasToDirsRequest) -> AssignReplicasToDirsResponse: ...
    @overload
    async def ask(
        self, request: ListPartitionReassignmentsRequest
    ) -> ListPartitionReassignmentsResponse: ...
