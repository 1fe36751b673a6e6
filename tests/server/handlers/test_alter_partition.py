"""AlterPartition: only the living incarnation of a broker is heard."""

from pathlib import Path

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.alter_partition import AlterPartitionRequest
from server.handlers.controlling import a_controller


def test_a_broker_of_another_epoch_is_refused(tmp_path: Path) -> None:
    with a_controller(tmp_path) as (_, controller):
        answer = controller.ask(AlterPartitionRequest(broker_id=1, broker_epoch=1))

        assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH
