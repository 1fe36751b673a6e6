"""AssignReplicasToDirs: only the living incarnation of a broker is heard."""

from pathlib import Path

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from server.handlers.controlling import a_controller


def test_a_broker_of_another_epoch_is_refused(tmp_path: Path) -> None:
    with a_controller(tmp_path) as (_, controller):
        answer = controller.ask(AssignReplicasToDirsRequest(broker_id=1, broker_epoch=1))

        assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH


def test_nothing_to_say_is_well(tmp_path: Path) -> None:
    with a_controller(tmp_path) as (node, controller):
        epoch = node.call(lambda: node.node.broker.image.brokers[1].epoch)

        answer = controller.ask(AssignReplicasToDirsRequest(broker_id=1, broker_epoch=epoch))

        assert (answer.error_code, answer.directories) == (0, [])
