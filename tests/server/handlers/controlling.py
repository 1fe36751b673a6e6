"""A node with a listener for controllers, and requests as another broker of its cluster would send them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from klamm.base.ids import Uuid
from klamm.metadata.features import SUPPORTED
from klamm.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from server.running_node import RunningNode
from server.wire_client import WireClient

SETTINGS: dict[str, object] = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.quorum.voters": "1@127.0.0.1:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
}


def controller_of(node: RunningNode) -> str:
    (endpoint,) = node.node.broker.image.controllers[1].endpoints
    return f"{endpoint.host}:{endpoint.port}"


@contextmanager
def a_controller(data: Path) -> Iterator[tuple[RunningNode, WireClient]]:
    with RunningNode(data, SETTINGS) as node:
        while 1 not in node.call(lambda: node.node.broker.image.controllers):
            pass
        with WireClient(controller_of(node)) as controller:
            yield node, controller


def registration(
    node: RunningNode, *, broker_id: int = 2, incarnation: int = 1, port: int = 1
) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=node.node.ready.cluster_id,
        incarnation_id=Uuid(bytes(15) + bytes([incarnation])),
        listeners=[Listener(name="PLAINTEXT", host="127.0.0.1", port=port)],
        features=[
            Feature(
                name=name, min_supported_version=each.lowest, max_supported_version=each.highest
            )
            for name, each in SUPPORTED.items()
        ],
        rack=None,
        log_dirs=[Uuid(bytes(15) + bytes([100 + broker_id]))],
    )
