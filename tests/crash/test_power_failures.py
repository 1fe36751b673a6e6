"""The power fails at any step of a long scenario; the next start keeps every promise that had been made by then."""

import pytest
from chaos.power.log_check import check_recovery
from chaos.power.log_scenario import LogScenario
from chaos.power.metadata_scenario import MetadataScenario, check_metadata
from chaos.power.moments import try_all
from chaos.power.node_scenario import NodeScenario, check_node


@pytest.mark.parametrize("seed", range(4))
def test_logs_keep_what_was_synced_and_lose_nothing_valid(seed: int, share: float):
    scenario = LogScenario(seed, share=share)
    scenario.run(actions=120)

    assert try_all(scenario.recorder, check_recovery) > 0


@pytest.mark.parametrize("seed", range(2))
def test_the_metadata_log_keeps_what_was_answered(seed: int, share: float):
    scenario = MetadataScenario(seed, share=share)
    scenario.run(actions=20)

    assert try_all(scenario.recorder, lambda crash: check_metadata(scenario, crash)) > 0


@pytest.mark.parametrize("seed", range(2))
def test_a_node_keeps_its_word(seed: int, share: float):
    scenario = NodeScenario(seed, share=share / 2)
    scenario.run(actions=80)

    assert try_all(scenario.recorder, check_node) > 0
