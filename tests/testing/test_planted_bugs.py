"""The simulation sees what it should see: nodes with a bug put in break the invariant that is about it."""

from collections.abc import Callable, Iterator

import pytest

from klamm.base.errors import ErrorCode
from klamm.log.compaction.batch_filter import BatchFilter
from klamm.log.state.producers import ProducerStates
from klamm.replication.partition import Partition
from klamm.server.broker import Broker
from klamm.server.coordination import markers
from klamm.server.coordination.partition_log import PartitionLog
from klamm.testing.scenarios.one_node import Plan, run_one_node

MOST_SEEDS = 25
Planted = Callable[[pytest.MonkeyPatch], None]


def acknowledgements_before_the_sync(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Broker, "needs_flush", lambda self, partition: False)


def repetitions_that_are_written_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ProducerStates, "check", lambda self, *_: None)


def markers_that_forget_a_partition(patch: pytest.MonkeyPatch) -> None:
    write = markers.write_marker

    def forgetful(broker, name, *what, told, **more):
        if name.partition == 1:
            told(ErrorCode.NONE)
        else:
            write(broker, name, *what, told=told, **more)

    patch.setattr(markers, "write_marker", forgetful)


def open_transactions_that_can_be_seen(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Partition, "last_stable_offset", property(lambda self: self.high_watermark))


def commits_that_are_only_remembered(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PartitionLog, "append", lambda self, records, producer, now: self.end_offset)


def a_cleaner_that_takes_too_much(patch: pytest.MonkeyPatch) -> None:
    kept = BatchFilter._kept
    patch.setattr(BatchFilter, "_kept", lambda self, *batch: kept(self, *batch)[1:])


BUGS: dict[Planted, tuple[str, Callable[[Plan], bool]]] = {
    acknowledgements_before_the_sync: (
        "what_was_acknowledged_is_at_its_offset",
        lambda plan: plan.is_synced,
    ),
    repetitions_that_are_written_again: (
        "no_value_is_written_twice",
        lambda plan: {"lossy", "reset"} <= set(plan.faults),
    ),
    markers_that_forget_a_partition: (
        "a_transaction_is_seen_whole_or_not_at_all",
        lambda plan: plan.crash != "power" and "transactor-1" in plan.actors,
    ),
    open_transactions_that_can_be_seen: (
        "nothing_is_stable_behind_an_open_transaction",
        lambda plan: "transactor-1" in plan.actors,
    ),
    commits_that_are_only_remembered: (
        "a_committed_offset_stays",
        lambda plan: plan.crash == "kill" and "classic" in plan.actors,
    ),
    a_cleaner_that_takes_too_much: (
        "the_last_value_of_a_key_stays",
        lambda plan: plan.crash != "power" and plan.segment_bytes < 1_000,
    ),
}


def seeds_for(suits: Callable[[Plan], bool]) -> Iterator[int]:
    return (seed for seed in range(10_000) if suits(Plan.of(seed)))


@pytest.mark.parametrize("plant", BUGS, ids=lambda plant: plant.__name__)
def test_a_node_cannot_have(plant: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    invariant, suits = BUGS[plant]
    plant(monkeypatch)

    for seed, _ in zip(seeds_for(suits), range(MOST_SEEDS), strict=False):
        if any(invariant in text for text in run_one_node(seed).violations):
            return

    pytest.fail(f"{MOST_SEEDS} seeds did not see it")
