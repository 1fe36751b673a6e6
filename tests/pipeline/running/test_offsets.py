"""How far a pipeline is: the least that any of its queries has processed."""

from klamm.pipeline.running.offsets import Readers, processed_offsets
from klamm.pipeline.running.progress import PartitionProgress, QueryReport, Report
from klamm.pipeline.spec import from_dict

PIPELINE = from_dict(
    {
        "name": "p",
        "sources": [
            {"name": "clicks", "topic": "clicks", "format": "bytes"},
            {"name": "logs", "pattern": "log-.*", "format": "bytes"},
        ],
        "sinks": [
            {"topic": "one", "from": "clicks"},
            {"topic": "two", "from": "clicks", "output": "update"},
            {"topic": "three", "from": "logs"},
        ],
    }
)
READERS = Readers(PIPELINE)


def report(**partitions: dict[tuple[str, int], int]) -> Report:
    """By the query's name without its prefix: how far it is."""
    return Report(
        pipeline="p",
        queries=tuple(
            QueryReport(
                name=f"topic.{name}",
                partitions=tuple(
                    PartitionProgress(t, p, at, None) for (t, p), at in offsets.items()
                ),
            )
            for name, offsets in partitions.items()
        ),
    )


def test_slowest_query_says_how_far_the_pipeline_is() -> None:
    found = report(
        one={("clicks", 0): 10, ("clicks", 1): 7},
        two={("clicks", 0): 8, ("clicks", 1): 9},
        three={("log-a", 0): 3},
    )

    assert processed_offsets(found, READERS) == {
        ("clicks", 0): 8,
        ("clicks", 1): 7,
        ("log-a", 0): 3,
    }


def test_partition_waits_for_the_query_that_has_not_said_how_far_it_is() -> None:
    found = report(one={("clicks", 0): 10, ("clicks", 1): 7}, two={("clicks", 0): 8}, three={})

    assert processed_offsets(found, READERS) == {("clicks", 0): 8}


def test_query_that_reads_something_else_is_not_waited_for() -> None:
    found = report(one={("clicks", 0): 10}, two={("clicks", 0): 8}, three={})

    assert processed_offsets(found, READERS) == {("clicks", 0): 8}


def test_query_that_ended_without_a_word_had_nothing_to_read() -> None:
    found = report(one={("clicks", 0): 10}, two={}, three={})

    assert processed_offsets(found, READERS) == {}
    assert processed_offsets(found, READERS, ended={"topic.two"}) == {("clicks", 0): 10}


def test_topics_of_a_pattern_are_read_by_its_queries() -> None:
    assert READERS.reads("topic.three", "log-a")
    assert not READERS.reads("topic.three", "my-log-a")
    assert not READERS.reads("topic.one", "log-a")
