"""BrokerRegistration: a broker makes itself known to the active controller."""

from pathlib import Path

from klamm.base.errors import ErrorCode
from server.handlers.controlling import a_controller, registration


def test_a_broker_gets_an_epoch_and_begins_fenced(tmp_path: Path) -> None:
    with a_controller(tmp_path) as (node, controller):
        answer = controller.ask(registration(node))

        known = node.call(lambda: node.node.broker.image.brokers[2])
        assert (answer.error_code, answer.broker_epoch) == (ErrorCode.NONE, known.epoch)
        assert known.is_fenced


def test_a_broker_of_another_cluster_is_refused(tmp_path: Path) -> None:
    with a_controller(tmp_path) as (node, controller):
        request = registration(node)
        request.cluster_id = "another"

        assert controller.ask(request).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID


def test_the_number_of_a_broker_that_lives_is_taken(tmp_path: Path) -> None:
    with a_controller(tmp_path) as (node, controller):
        answer = controller.ask(registration(node, broker_id=1))

        assert answer.error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
