"""Where a node listens, what it tells clients to connect to, and what a controller's listener serves."""

import socket
from pathlib import Path

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.alter_partition import AlterPartitionRequest
from klamm.protocol.messages.api_versions import ApiVersionsRequest
from klamm.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from klamm.protocol.messages.broker_registration import BrokerRegistrationRequest
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.describe_cluster import DescribeClusterRequest
from klamm.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from klamm.protocol.messages.envelope import EnvelopeRequest
from klamm.protocol.messages.metadata import MetadataRequest
from klamm.protocol.messages.vote import VoteRequest
from server.asking import NO_TOPIC, Topic, a_batch, a_produce, append, fetched
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.brokers import free_port

A_CLIENT = ApiVersionsRequest(client_software_name="wire", client_software_version="1.0")


def told_by(client: WireClient) -> list[str]:
    """Where the broker says it is, by both ways to ask."""
    brokers = [
        *client.ask(MetadataRequest(topics=[])).brokers,
        *client.ask(DescribeClusterRequest()).brokers,
    ]
    return [f"{broker.host}:{broker.port}" for broker in brokers]


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def test_without_advertised_listeners_a_client_is_told_where_it_came_by(tmp_path: Path) -> None:
    with RunningNode(tmp_path, {"listeners": "PLAINTEXT://0.0.0.0:0"}) as node:
        port = node.address.rpartition(":")[2]
        for host in ("127.0.0.1", "127.0.0.2"):
            with WireClient(f"{host}:{port}") as client:
                assert told_by(client) == [f"{host}:{port}"] * 2


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_a_client_that_came_by_ipv4_to_every_interface_is_told_an_ipv4_address(
    tmp_path: Path,
) -> None:
    with RunningNode(tmp_path, {"listeners": "PLAINTEXT://:0"}) as node:
        port = node.address.rpartition(":")[2]
        with WireClient(f"127.0.0.1:{port}") as client:
            assert told_by(client) == [f"127.0.0.1:{port}"] * 2
        with WireClient(f"[::1]:{port}") as client:
            assert told_by(client) == [f"::1:{port}"] * 2


def test_with_advertised_listeners_every_client_is_told_that_address(tmp_path: Path) -> None:
    settings: dict[str, object] = {"advertised.listeners": "PLAINTEXT://kafka.example:9999"}
    with RunningNode(tmp_path, settings) as node, WireClient(node.address) as client:
        assert told_by(client) == ["kafka.example:9999"] * 2


def test_clients_are_told_the_address_of_the_listener_they_came_by(tmp_path: Path) -> None:
    inside, outside = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    settings: dict[str, object] = {
        "listeners": f"INSIDE://{inside},OUTSIDE://{outside}",
        "advertised.listeners": "INSIDE://inside.example:1,OUTSIDE://outside.example:2",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
        "inter.broker.listener.name": "INSIDE",
    }
    with RunningNode(tmp_path, settings):
        with WireClient(inside) as client:
            assert told_by(client) == ["inside.example:1"] * 2
        with WireClient(outside) as client:
            assert told_by(client) == ["outside.example:2"] * 2


# -- the controller's listener ------------------------------------------------------------------------------------------

BOTH_ROLES: dict[str, object] = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.quorum.voters": "1@127.0.0.1:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
}


def controller_of(node: RunningNode) -> str:
    (endpoint,) = node.node.broker.image.controllers[1].endpoints
    return f"{endpoint.host}:{endpoint.port}"


def test_a_controllers_listener_serves_its_own_apis(tmp_path: Path) -> None:
    with (
        RunningNode(tmp_path, BOTH_ROLES) as node,
        WireClient(node.address) as client,
        WireClient(controller_of(node)) as controller,
    ):
        served = {api.api_key for api in controller.ask(A_CLIENT).api_keys}
        described = controller.ask(DescribeClusterRequest(endpoint_type=2))
        wanted = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        (made,) = controller.ask(CreateTopicsRequest(topics=[wanted], timeout_ms=5_000)).topics
        metadata_log = DescribeQuorumRequestTopicData(
            topic_name="__cluster_metadata",
            partitions=[DescribeQuorumRequestPartitionData(partition_index=0)],
        )
        quorum = controller.ask(DescribeQuorumRequest(topics=[metadata_log]))

        assert {18, 19, 20, 55, 60} <= served
        assert not {0, 2, 3} & served
        assert (described.error_code, described.endpoint_type) == (0, 2)
        assert quorum.topics[0].partitions[0].leader_id == 1
        # What the controller made, the broker has.
        topic = Topic("t", made.topic_id)
        assert append(client, topic, b"x") == 0
        assert fetched(client, topic) == [b"x"]


def test_a_controllers_listener_names_itself_to_who_asks_for_controllers(tmp_path: Path) -> None:
    with (
        RunningNode(tmp_path, BOTH_ROLES) as node,
        WireClient(controller_of(node)) as controller,
    ):
        (told,) = controller.ask(DescribeClusterRequest(endpoint_type=2)).brokers

        assert f"{told.host}:{told.port}" == controller_of(node)


def test_a_controllers_listener_does_not_speak_for_brokers(tmp_path: Path) -> None:
    with (
        RunningNode(tmp_path, BOTH_ROLES) as node,
        WireClient(controller_of(node)) as controller,
    ):
        answer = controller.ask(DescribeClusterRequest(endpoint_type=1))

        assert answer.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE


def test_a_controllers_listener_takes_no_records(tmp_path: Path) -> None:
    with (
        RunningNode(tmp_path, BOTH_ROLES) as node,
        WireClient(controller_of(node)) as controller,
    ):
        controller.send(a_produce(NO_TOPIC, a_batch()))

        assert controller.is_closed_by_the_broker()


@pytest.mark.parametrize(
    "rubbish",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\0\0\0\x04\0\x3f\0\x02",
        # Vote, BrokerHeartbeat, BrokerRegistration, Envelope and Fetch with nothing but 0xff behind their headers.
        *(
            (10 + 61).to_bytes(4, "big")
            + bytes((0, key, 0, version))
            + bytes(4)
            + b"\xff\xff\0"
            + b"\xff" * 60
            for key, version in ((52, 2), (63, 2), (62, 4), (58, 0), (1, 18))
        ),
    ],
    ids=["http", "tls", "cut", "vote", "heartbeat", "registration", "envelope", "fetch"],
)
def test_rubbish_on_a_controllers_listener_closes_its_connection_and_disturbs_nobody(
    tmp_path: Path, rubbish: bytes
) -> None:
    with (
        RunningNode(tmp_path, BOTH_ROLES) as node,
        WireClient(controller_of(node)) as stranger,
        WireClient(controller_of(node)) as controller,
    ):
        stranger.socket.sendall(rubbish)

        assert stranger.is_closed_by_the_broker()
        assert controller.ask(DescribeClusterRequest(endpoint_type=2)).error_code == 0


def test_a_node_that_is_only_a_controller_serves_controllers_and_keeps_no_partitions(
    tmp_path: Path,
) -> None:
    settings = {
        **BOTH_ROLES,
        "process.roles": "controller",
        "listeners": "CONTROLLER://127.0.0.1:0",
    }
    with RunningNode(tmp_path, settings) as node, WireClient(node.address) as controller:
        described = controller.ask(DescribeClusterRequest(endpoint_type=2))
        wanted = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        (made,) = controller.ask(CreateTopicsRequest(topics=[wanted], timeout_ms=5_000)).topics

        assert described.error_code == ErrorCode.NONE
        # There is no broker that could have it.
        assert made.error_code == ErrorCode.INVALID_REPLICATION_FACTOR


@pytest.mark.parametrize(
    "request_of_nodes",
    [
        BrokerHeartbeatRequest(broker_id=1),
        BrokerRegistrationRequest(broker_id=1),
        AlterPartitionRequest(broker_id=1),
        EnvelopeRequest(),
        VoteRequest(),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_only_controllers_serve_is_refused_on_a_brokers_listener(
    tmp_path: Path, request_of_nodes: object
) -> None:
    with RunningNode(tmp_path, BOTH_ROLES) as node, WireClient(node.address) as client:
        client.send(request_of_nodes)

        assert client.is_closed_by_the_broker()
