"""No API without a rule about who may ask for it, and no rule that its handler does not ask for."""

from pathlib import Path

import pytest

from klamm.server.api_table import BROKER, CLUSTER_ACTION, CONTROLLER, CONTROLLER_MODULES
from klamm.server.authorization import rights
from klamm.server.authorization.rules import OPEN, RULES

SERVER = Path(__file__).parents[2] / "src" / "klamm" / "server"
SERVED = sorted({*BROKER, *CONTROLLER})
NAMES = {value: name for name, value in vars(rights).items() if isinstance(value, rights.Right)}
# Where a handler leaves the question to somebody else.
ASKED_ELSEWHERE = {
    "alter_configs": "metadata/config_resources.py",
    "incremental_alter_configs": "metadata/config_resources.py",
    "describe_configs": "metadata/config_resources.py",
    "describe_cluster": "call.py",
    "fetch": "fetch/delayed_fetch.py",
}
# What hands a right to whoever decides.
QUESTIONS = ("call.may", "call.require", "call.denied", "may_with", "refused_here")


@pytest.mark.parametrize("api", SERVED)
def test_an_api_has_a_rule_or_is_open_to_all(api: str) -> None:
    assert (api in RULES) is not (api in OPEN)


@pytest.mark.parametrize("api", [each for each in SERVED if each in RULES])
def test_a_handler_asks_for_the_rights_of_its_rule(api: str) -> None:
    if api in CLUSTER_ACTION:
        assert RULES[api] == (rights.CLUSTER_ACTION,)
        return
    source = (SERVER / "handlers" / f"{api}.py").read_text()
    if api in ASKED_ELSEWHERE:
        source += (SERVER / ASKED_ELSEWHERE[api]).read_text()

    assert any(each in source for each in QUESTIONS)
    for right in RULES[api]:
        assert NAMES[right] in source, f"{api} does not ask for {right}"


def test_a_controllers_own_handlers_ask_too() -> None:
    for module in CONTROLLER_MODULES.values():
        path = SERVER.parents[1] / (module.replace(".", "/") + ".py")
        assert "call.require(CLUSTER_ACTION)" in path.read_text()


def test_a_rule_is_about_an_api_that_is_served() -> None:
    assert set(RULES) <= set(SERVED)
