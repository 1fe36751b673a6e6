"""UnregisterBroker: a broker that will not come back is forgotten."""

from pathlib import Path

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.unregister_broker import UnregisterBrokerRequest
from server.handlers.controlling import a_controller, registration
from server.wire_client import WireClient


def test_a_broker_that_is_gone_is_forgotten_by_either_listener(tmp_path: Path) -> None:
    with a_controller(tmp_path) as (node, controller), WireClient(node.address) as client:
        for asked in (controller, client):
            controller.ask(registration(node))

            answer = asked.ask(UnregisterBrokerRequest(broker_id=2))

            assert answer.error_code == ErrorCode.NONE
            assert 2 not in node.call(lambda: node.node.broker.image.brokers)


def test_a_broker_that_nobody_knows(tmp_path: Path) -> None:
    with a_controller(tmp_path) as (_, controller):
        answer = controller.ask(UnregisterBrokerRequest(broker_id=9))

        assert answer.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
