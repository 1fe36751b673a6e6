"""Do the power failures find anything? Bugs that such code tends to have are planted, and each must be found."""

from collections.abc import Callable

import pytest
from chaos.power.log_check import check_recovery
from chaos.power.log_scenario import LogScenario
from chaos.power.metadata_scenario import MetadataScenario, check_metadata
from chaos.power.moments import try_all
from chaos.power.node_scenario import NodeScenario, check_node

from klamm.log import checkpoints, recovery
from klamm.log.flush import Durability, Flush
from klamm.log.segments import Segments
from klamm.replication import log_directories
from klamm.replication.log_directories import LogDirectory
from klamm.server.handlers import produce
from klamm.server.loops.quorum_loop import MetadataQuorum

Plant = Callable[[pytest.MonkeyPatch], None]
_SEEDS = range(8)


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

    def end_further(self: Durability, flush: Flush, now: int | None) -> None:
        flush.end_offset += 2
        end(self, flush, now)

    patch.setattr(Durability, "end", end_further)


def checksums_that_nobody_looks_at(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recovery, "check_crc", lambda batch: True)


def holes_that_nobody_sees(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recovery._Recovery, "_is_behind_a_hole", lambda self, segment, end: False)


def snapshots_of_producers_from_the_future(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recovery, "_forget_snapshots_after", lambda disk, directory, offset: None)


def retention_that_does_not_wait_for_snapshots(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Durability, "safe_snapshots_end", lambda self: None)


def a_marker_of_a_clean_stop_that_stays(patch: pytest.MonkeyPatch) -> None:
    def take(disk: object, directory: str) -> tuple[bool, int]:
        return disk.exists(f"{directory}/{checkpoints.CLEAN_SHUTDOWN}"), -1  # type: ignore[attr-defined]

    patch.setattr(log_directories, "take_clean_shutdown", take)


def starts_of_logs_that_are_believed_too_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Durability, "names_are_safe", True)


@pytest.mark.parametrize(
    "plant",
    [
        a_flush_that_syncs_no_file,
        a_flush_that_syncs_no_names,
        a_flush_that_forgets_the_segment_before,
        a_flush_that_claims_what_came_after_it_began,
        checksums_that_nobody_looks_at,
        holes_that_nobody_sees,
        snapshots_of_producers_from_the_future,
        retention_that_does_not_wait_for_snapshots,
        a_marker_of_a_clean_stop_that_stays,
        starts_of_logs_that_are_believed_too_early,
    ],
    ids=lambda plant: plant.__name__,
)
def test_a_log_cannot_have(plant: Plant, monkeypatch: pytest.MonkeyPatch):
    plant(monkeypatch)

    with pytest.raises(Exception):  # noqa: B017 - it may also fail to start
        for seed in _SEEDS:
            scenario = LogScenario(seed, share=0.3)
            scenario.run(actions=120)
            try_all(scenario.recorder, check_recovery)


def test_a_quorum_cannot_answer_before_it_synced(monkeypatch: pytest.MonkeyPatch):
    sync = MetadataQuorum._sync

    def answer_first(self: MetadataQuorum) -> None:
        self._commit(self._raft.end_offset)
        sync(self)

    monkeypatch.setattr(MetadataQuorum, "_sync", answer_first)

    with pytest.raises(AssertionError):
        for seed in _SEEDS:
            scenario = MetadataScenario(seed, share=0.3)
            scenario.run(actions=20)
            try_all(scenario.recorder, lambda crash: check_metadata(scenario, crash))  # noqa: B023


def a_produce_that_answers_before_the_flush(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(produce, "_unflushed", lambda request, call: {})


def checkpoints_that_outlive_their_topic(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LogDirectory, "outdated_checkpoints", lambda self: [])


@pytest.mark.parametrize(
    "plant",
    [a_produce_that_answers_before_the_flush, checkpoints_that_outlive_their_topic],
    ids=lambda plant: plant.__name__,
)
def test_a_node_cannot_have(plant: Plant, monkeypatch: pytest.MonkeyPatch):
    plant(monkeypatch)

    with pytest.raises(Exception):  # noqa: B017 - a partition may also be offline
        for seed in _SEEDS:
            scenario = NodeScenario(seed, share=0.1)
            scenario.run(actions=120)
            try_all(scenario.recorder, check_node)
