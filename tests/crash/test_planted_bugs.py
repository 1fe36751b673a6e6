"""Do the power failures find anything? Bugs that such code tends to have are planted, and each must be found."""

from collections.abc import Callable
from functools import partial

import pytest
from chaos.power.log_check import check_recovery
from chaos.power.log_scenario import LogScenario
from chaos.power.metadata_scenario import MetadataScenario, check_metadata
from chaos.power.moments import try_all
from chaos.power.node_scenario import NodeScenario, check_node

from klamm.base.errors import ApiError, CorruptFrame
from klamm.log import checkpoints, recovery
from klamm.log.flush import Durability, Flush
from klamm.log.segments import Segments
from klamm.server.handlers import produce
from klamm.storage import log_directories

Plant = Callable[[pytest.MonkeyPatch], None]
_SEEDS = range(8)


def is_found(crash: Callable[[int], None]) -> bool:
    """By a broken promise, or because nothing starts any more."""
    for seed in _SEEDS:
        try:
            crash(seed)
        except (AssertionError, ApiError, CorruptFrame, KeyError):
            return True
    return False


def crash_a_log(seed: int) -> None:
    scenario = LogScenario(seed, share=0.2)
    scenario.run(actions=120)
    try_all(scenario.recorder, check_recovery)


def crash_a_quorum(seed: int) -> None:
    scenario = MetadataScenario(seed, share=0.2)
    scenario.run(actions=20)
    try_all(scenario.recorder, partial(check_metadata, scenario))


def crash_a_node(seed: int) -> None:
    scenario = NodeScenario(seed, share=0.1)
    scenario.run(actions=120)
    try_all(scenario.recorder, check_node)


def a_flush_that_syncs_no_file(patch: pytest.MonkeyPatch) -> None:
    def run(self: Flush) -> None:
        self.is_done = True

    patch.setattr(Flush, "run", run)


def a_flush_that_syncs_no_names(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Durability, "_changed_directories", lambda self, directory: [])


def a_flush_that_forgets_the_segment_before(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Segments, "files_since", lambda self, offset: self.active.files())


def a_flush_that_claims_what_came_after_it_began(patch: pytest.MonkeyPatch) -> None:
    end = Durability.end

    def end_further(self: Durability, flush: Flush) -> None:
        flush.end_offset += 2
        end(self, flush)

    patch.setattr(Durability, "end", end_further)


def checksums_that_nobody_looks_at(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recovery, "check_crc", lambda batch: True)


def holes_that_nobody_sees(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recovery._Recovery, "_is_behind_a_hole", lambda self, segment, end: False)


def a_marker_of_a_clean_stop_that_stays(patch: pytest.MonkeyPatch) -> None:
    def take(disk: object, directory: str) -> tuple[bool, int]:
        return disk.exists(f"{directory}/{checkpoints.CLEAN_SHUTDOWN}"), -1  # type: ignore[attr-defined]

    patch.setattr(log_directories, "take_clean_shutdown", take)


@pytest.mark.parametrize(
    "plant",
    [
        a_flush_that_syncs_no_file,
        a_flush_that_syncs_no_names,
        a_flush_that_forgets_the_segment_before,
        a_flush_that_claims_what_came_after_it_began,
        checksums_that_nobody_looks_at,
        holes_that_nobody_sees,
        a_marker_of_a_clean_stop_that_stays,
    ],
    ids=lambda plant: plant.__name__,
)
def test_a_log_cannot_have(plant: Plant, monkeypatch: pytest.MonkeyPatch):
    plant(monkeypatch)

    assert is_found(crash_a_log)


def test_a_quorum_cannot_answer_before_it_synced(monkeypatch: pytest.MonkeyPatch):
    a_flush_that_syncs_no_file(monkeypatch)

    assert is_found(crash_a_quorum)


def test_a_node_cannot_answer_a_produce_before_the_flush(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(produce, "_unflushed", lambda request, call: {})

    assert is_found(crash_a_node)
