"""ControllerRegistration: where a controller can be found."""

from pathlib import Path

from klamm.base.errors import ErrorCode
from klamm.metadata.image import Endpoint
from klamm.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    Listener,
)
from server.handlers.controlling import a_controller


def test_a_controller_is_known_by_what_it_says_of_itself(tmp_path: Path) -> None:
    with a_controller(tmp_path) as (node, controller):
        listener = Listener(name="CONTROLLER", host="c2", port=9093)
        request = ControllerRegistrationRequest(controller_id=2, listeners=[listener])

        assert controller.ask(request).error_code == ErrorCode.NONE

        known = node.call(lambda: node.node.broker.image.controllers[2])
        assert known.endpoints == (Endpoint("CONTROLLER", "c2", 9093),)
