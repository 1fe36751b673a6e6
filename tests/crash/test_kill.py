"""kill -9 under load: everything acknowledged is there after the start, once, at its offset."""

from pathlib import Path

from chaos.real.kill_cycles import Cycle, KillCycles


def test_nothing_acknowledged_is_lost_doubled_or_moved(tmp_path: Path):
    cycles: list[Cycle] = []

    verdict = KillCycles(tmp_path, seed=1).run(5, cycles.append)

    assert verdict.is_good, [f"{each.number}: {each.verdict}" for each in cycles]
    assert len(cycles) == 5
    assert verdict.acknowledged > 100
    assert verdict.retried_batches > 0
