"""A cluster under everything: clients of all kinds, nodes that die, vanish, pause and are cut off; then calm, and the invariants."""

from klamm.testing.scenarios.many_nodes.plan import FAULTS, Plan, Step
from klamm.testing.scenarios.many_nodes.scenario import ManyNodesScenario, run_many_nodes

__all__ = ["FAULTS", "ManyNodesScenario", "Plan", "Step", "run_many_nodes"]
