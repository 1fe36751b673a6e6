"""One pipeline, killed again and again, and after each kill held against what it was fed."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeAlias

from chaos.pipeline.feed import Feed
from chaos.pipeline.outputs import Verdict
from chaos.pipeline.stage import Stage, TableReader

# What is done to the pipeline; the moment has come.
Deed: TypeAlias = Callable[[Stage, Random], object]
_LONGEST_SECONDS = 3.0


class Kind(NamedTuple):
    """What is killed, and whether there must be a cluster of Spark for it, or several brokers."""

    deed: Deed
    on_cluster: bool = False
    brokers: int = 1


KINDS: Mapping[str, Kind] = {
    "driver": Kind(lambda stage, _: stage.kill_driver()),
    "worker": Kind(Stage.kill_executor, on_cluster=True),
    "broker": Kind(lambda stage, _: stage.kill_broker()),
    "node": Kind(Stage.kill_a_node, brokers=3),
    "replay": Kind(lambda stage, _: stage.forget_last_commit()),
}


class Cycle(NamedTuple):
    number: int
    moment: str
    seconds: float
    verdicts: list[Verdict]

    @property
    def is_good(self) -> bool:
        return all(verdict.is_good for verdict in self.verdicts)


def run(
    kind: str,
    home: Path,
    *,
    warehouse: Path,
    times: int,
    seed: int,
    read_table: TableReader,
    tell: Callable[[Cycle], None],
) -> bool:
    """True if all is well. Ends at the first cycle that is not; then the data is left for a look."""
    chance = Random(f"{kind} {seed}")
    deed, on_cluster, brokers = KINDS[kind]
    with (
        Stage(
            home, name=kind, warehouse=warehouse, on_cluster=on_cluster, brokers=brokers
        ) as stage,
        Feed(stage.bootstrap),
    ):
        for number in range(1, times + 1):
            began = time.monotonic()
            moment = _wait_for_a_moment(stage, chance)
            deed(stage, chance)
            verdicts = stage.settle(read_table)
            cycle = Cycle(number, moment, time.monotonic() - began, verdicts)
            tell(cycle)
            if not cycle.is_good:
                return False
    return True


def _wait_for_a_moment(stage: Stage, chance: Random) -> str:
    """Half of all kills hit an open transaction; the others come whenever they come."""
    stage.driver.wait_for_batches(1)
    if chance.random() < 0.5:
        return f"in transaction {stage.wait_for_an_open_transaction()}"
    seconds = chance.uniform(0, _LONGEST_SECONDS)
    time.sleep(seconds)
    return f"{seconds:.2f} s after a batch"
