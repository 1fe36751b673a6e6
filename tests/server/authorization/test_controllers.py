"""A controller's own listener: only nodes may do what nodes do, and what they forward is done in the client's name."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from klamm.base.acl import CLUSTER_NAME, AclOperation, AclResourceType
from klamm.base.errors import ErrorCode
from klamm.protocol.apis import APIS
from klamm.protocol.compile import decode, encode
from klamm.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from klamm.protocol.messages.alter_partition import AlterPartitionRequest
from klamm.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from klamm.protocol.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from klamm.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from klamm.protocol.messages.broker_registration import BrokerRegistrationRequest
from klamm.protocol.messages.control import DefaultPrincipalData
from klamm.protocol.messages.controller_registration import ControllerRegistrationRequest
from klamm.protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from klamm.protocol.messages.describe_cluster import DescribeClusterRequest
from klamm.protocol.messages.end_quorum_epoch import EndQuorumEpochRequest
from klamm.protocol.messages.envelope import EnvelopeRequest
from klamm.protocol.messages.fetch import FetchRequest
from klamm.protocol.messages.fetch_snapshot import FetchSnapshotRequest
from klamm.protocol.messages.headers import RequestHeader
from klamm.protocol.messages.update_raft_voter import UpdateRaftVoterRequest
from klamm.protocol.messages.vote import VoteRequest
from server.authorization.people import JAAS, STANDARD, allow, log_in
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.patience import eventually

OF_NODES = [
    AllocateProducerIdsRequest(),
    AlterPartitionRequest(),
    AssignReplicasToDirsRequest(),
    BeginQuorumEpochRequest(),
    BrokerHeartbeatRequest(),
    BrokerRegistrationRequest(),
    ControllerRegistrationRequest(),
    EndQuorumEpochRequest(),
    EnvelopeRequest(),
    FetchRequest(),
    FetchSnapshotRequest(),
    UpdateRaftVoterRequest(),
    VoteRequest(),
]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    """The lone voter of its quorum; not a broker."""
    settings: dict[str, object] = {
        **STANDARD,
        "process.roles": "controller",
        "node.id": 1,
        "controller.quorum.voters": "1@127.0.0.1:9093",
        "controller.listener.names": "CONTROLLER",
        "listeners": "CONTROLLER://127.0.0.1:0",
        "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": f"{JAAS};",
    }
    with RunningNode(tmp_path_factory.mktemp("controller"), settings) as running:
        with WireClient(running.address) as client:
            log_in(client, "admin")
            cluster = {"resource_type": AclResourceType.CLUSTER}
            eventually(
                lambda: allow(
                    client, "broker", AclOperation.CLUSTER_ACTION, CLUSTER_NAME, **cluster
                )
            )
        yield running


@pytest.fixture
def person(node: RunningNode) -> Iterator[Callable[[str], WireClient]]:
    opened: list[WireClient] = []

    def connect(user: str) -> WireClient:
        opened.append(WireClient(node.address))
        return log_in(opened[-1], user)

    yield connect
    for client in opened:
        client.close()


@pytest.mark.parametrize("request_", OF_NODES, ids=lambda each: type(each).__name__)
def test_what_only_nodes_may_ask_is_denied_to_others(
    person: Callable[[str], WireClient], request_: Any
) -> None:
    answer = person("ann").ask(request_)

    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.parametrize("request_", OF_NODES, ids=lambda each: type(each).__name__)
def test_a_node_is_not_denied_it(person: Callable[[str], WireClient], request_: Any) -> None:
    answer = person("broker").ask(request_)

    assert answer.error_code != ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_where_controllers_are_is_for_administrators(
    person: Callable[[str], WireClient],
) -> None:
    request = DescribeClusterRequest(endpoint_type=2)

    assert person("ann").ask(request).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert person("admin").ask(request).error_code == ErrorCode.NONE


def enveloped(name: str, request: CreateTopicsRequest) -> EnvelopeRequest:
    header = RequestHeader(
        request_api_key=19, request_api_version=7, correlation_id=7, client_id="client"
    )
    principal = DefaultPrincipalData(type="User", name=name)
    return EnvelopeRequest(
        request_data=encode(header, APIS[19].request_header_version(7)) + encode(request, 7),
        request_principal=b"\0\0" + encode(principal, 0),
        client_host_address=bytes((127, 0, 0, 1)),
    )


def created(client: WireClient, name: str) -> Any:
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=5_000, validate_only=True)
    answer = client.ask(enveloped(name, request))
    assert answer.error_code == ErrorCode.NONE
    (made,) = decode(CreateTopicsResponse, 7, bytes(answer.response_data)[5:]).topics
    return made


def test_what_a_broker_forwards_is_decided_by_the_rights_of_its_client(
    person: Callable[[str], WireClient],
) -> None:
    broker = person("broker")

    assert created(broker, "ann").error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    # There is no broker that could hold it; but it is not denied.
    assert created(broker, "admin").error_code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_client_cannot_speak_in_an_administrators_name(
    person: Callable[[str], WireClient],
) -> None:
    request = enveloped("admin", CreateTopicsRequest())

    assert person("ann").ask(request).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
