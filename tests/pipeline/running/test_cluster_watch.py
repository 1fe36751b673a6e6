"""Where logs end, and whether somebody is there: known while Spark says nothing."""

import time
from collections.abc import Callable

from klamm.pipeline.place import Place
from klamm.pipeline.running.cluster_watch import ClusterWatch, Presence
from klamm.pipeline.running.progress import PartitionProgress, QueryReport, Report
from pipeline.running.pipelines import create
from pipeline.steps.running_steps import append
from support.brokers import Broker, free_port, start_klamm

# Far more than it takes.
PATIENCE_SECONDS = 120.0


def test_cluster_that_is_away_is_told_of_once_and_so_is_its_return() -> None:
    told: list[str] = []
    presence = Presence("b:1", told.append)

    assert not presence.answered(19.5, asked_at=19.0)
    presence.lost(20.0)
    presence.lost(21.0)
    # It was asked before that.
    assert not presence.answered(22.0, asked_at=19.0)
    assert presence.answered(28.0, asked_at=27.0)
    assert not presence.answered(29.0, asked_at=28.5)
    # Old news.
    presence.lost(29.5)

    assert told == [
        "the cluster at b:1 does not answer; waiting for it",
        "the cluster at b:1 answers again, after 8 s",
    ]


def test_lag_counts_what_came_since_the_last_batch() -> None:
    def query(name: str, *offsets: tuple[int, int | None]) -> QueryReport:
        parts = (PartitionProgress("t", n, at, end) for n, (at, end) in enumerate(offsets))
        return QueryReport(name=name, partitions=tuple(parts))

    report = Report(pipeline="p", queries=(query("a", (5, 5), (7, None)), query("b", (3, 6))))

    now = report.with_ends({("t", 0): 9, ("t", 1): 8})

    assert [each.lag for each in now.queries] == [4 + 1, 6]
    assert now.lag == 6 + 1
    # Spark may know more than the last answer.
    assert [each.lag for each in report.with_ends({("t", 0): 4}).queries] == [0, 3]


def test_ends_are_those_of_the_cluster(broker: Broker) -> None:
    create(broker.address, "ends", partitions=2)
    watch = ClusterWatch(place(broker), tell=print)
    append(broker.address, "ends", *({"n": n} for n in range(5)))

    ask(watch, [("ends", 0), ("ends", 1)], until=lambda: len(watch.ends) == 2)

    assert sum(watch.ends.values()) == 5


def test_return_of_a_broker_is_seen_and_its_ends_are_known_again() -> None:
    told: list[str] = []
    broker = start_klamm(port=free_port())
    try:
        create(broker.address, "back", partitions=1)
        watch = ClusterWatch(place(broker), tell=told.append)
        ask(watch, [("back", 0)], until=lambda: watch.ends == {("back", 0): 0})
        broker.kill()
        watch.heard_that_it_is_lost()
        watch.look([("back", 0)])
        broker = start_klamm(home=broker.home, port=int(broker.address.rpartition(":")[2]))
        ask(watch, [("back", 0)], until=lambda: len(told) == 2)
        append(broker.address, "back", {"n": 1})
        ask(watch, [("back", 0)], until=lambda: watch.ends == {("back", 0): 1})
    finally:
        broker.stop()

    assert [line.partition(broker.address)[2].partition(",")[0] for line in told] == [
        " does not answer; waiting for it",
        " answers again",
    ]


def place(broker: Broker) -> Place:
    return Place(bootstrap=broker.address, checkpoint="", warehouse="")


def ask(
    watch: ClusterWatch, partitions: list[tuple[str, int]], *, until: Callable[[], bool]
) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not until():
        assert time.monotonic() < deadline
        # It waits a moment for the answer.
        watch.ask_once_more(partitions)
