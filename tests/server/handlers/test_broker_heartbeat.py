"""BrokerHeartbeat: what a broker is told that says how far it is and what it wants."""

from pathlib import Path

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from server.handlers.controlling import a_controller, registration


def test_a_broker_that_has_caught_up_is_unfenced_and_let_go_when_it_wants(tmp_path: Path) -> None:
    with a_controller(tmp_path) as (node, controller):
        epoch = controller.ask(registration(node)).broker_epoch

        def beat(offset: int, *, shut_down: bool = False) -> tuple[bool, bool, bool]:
            request = BrokerHeartbeatRequest(
                broker_id=2,
                broker_epoch=epoch,
                current_metadata_offset=offset,
                want_shut_down=shut_down,
            )
            answer = controller.ask(request)
            assert answer.error_code == ErrorCode.NONE
            return answer.is_caught_up, answer.is_fenced, answer.should_shut_down

        assert beat(epoch - 1) == (False, True, False)
        assert beat(epoch) == (True, False, False)
        assert beat(epoch, shut_down=True) == (True, True, True)


def test_another_epoch_is_stale(tmp_path: Path) -> None:
    with a_controller(tmp_path) as (_, controller):
        answer = controller.ask(BrokerHeartbeatRequest(broker_id=1, broker_epoch=1))

        assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH
