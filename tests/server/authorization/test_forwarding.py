"""A broker and a controller in two nodes that log in at each other: rules are kept by the one and heeded by both."""

from pathlib import Path

from klamm.base.acl import AclOperation
from klamm.base.errors import ErrorCode
from klamm.base.settings.load import load
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.server.storage import Paths, format_directories
from klamm.server.world.real import real_world
from server.asking import Topic, a_batch, a_produce, error, partition_of
from server.authorization.people import JAAS, STANDARD, allow, log_in, take_back
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.brokers import free_port


def settings(controller_port: int, **more: object) -> dict[str, object]:
    jaas = f"{JAAS};".replace("username=admin", "username=broker")
    return {
        **STANDARD,
        "super.users": "User:admin;User:broker",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": jaas,
        "listener.name.plaintext.plain.sasl.jaas.config": jaas,
        "offsets.topic.replication.factor": 1,
        **more,
    }


def _format(data: Path, node_id: int, wanted: dict[str, object]) -> None:
    texts = [f"{name}={value}" for name, value in {**wanted, "log.dirs": data}.items()]
    world = real_world()
    format_directories(
        world.disk,
        Paths.of(load(overrides=texts)),
        cluster_id="4L6g3nShT-eMCtK--X86sw",
        node_id=node_id,
        chance=world.chance,
        now=world.clock.wall(),
        voters=None,
    )


def created(client: WireClient, name: str) -> tuple[ErrorCode, Topic]:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    (made,) = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000)).topics
    return error(made.error_code), Topic(name, made.topic_id)


def test_what_a_client_may_is_decided_where_it_is_done(tmp_path: Path) -> None:
    port, client_port = free_port(), free_port()
    of_controller = settings(
        port,
        **{
            "process.roles": "controller",
            "node.id": 1,
            "listeners": f"CONTROLLER://127.0.0.1:{port}",
        },
    )
    of_broker = settings(
        port,
        **{
            "process.roles": "broker",
            "node.id": 2,
            "listeners": f"PLAINTEXT://127.0.0.1:{client_port}",
            "inter.broker.listener.name": "PLAINTEXT",
        },
    )
    for node_id, wanted in ((1, of_controller), (2, of_broker)):
        _format(tmp_path / str(node_id), node_id, wanted)
    with (
        RunningNode(tmp_path / "1", of_controller),
        RunningNode(tmp_path / "2", of_broker) as broker,
        WireClient(broker.address) as first,
        WireClient(broker.address) as second,
    ):
        admin, ann = log_in(first, "admin"), log_in(second, "ann")

        assert created(ann, "t")[0] is ErrorCode.TOPIC_AUTHORIZATION_FAILED
        allow(admin, "ann", AclOperation.ALL, "t")
        code, topic = created(ann, "t")
        assert code is ErrorCode.NONE
        assert partition_of(ann.ask(a_produce(topic, a_batch()))).error_code == 0
        take_back(admin, "ann", "t")
        answer = partition_of(ann.ask(a_produce(topic, a_batch())))
        assert error(answer.error_code) is ErrorCode.TOPIC_AUTHORIZATION_FAILED
