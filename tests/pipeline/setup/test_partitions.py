"""Over how many partitions state is spread, and what is told of it. No Spark."""

import json
from pathlib import Path

import pytest

from klamm.pipeline.identity.keeping import LocalFiles
from klamm.pipeline.partitions import (
    SHUFFLE_PARTITIONS,
    kept_partitions,
    may_have_state,
    partitions_for,
    steady,
    what_cannot_be_had,
    what_stays,
)
from klamm.pipeline.spec import from_dict


def test_one_for_each_core_but_neither_few_nor_very_many() -> None:
    assert [partitions_for(cores) for cores in (1, 6, 1000)] == [4, 6, 200]


@pytest.mark.parametrize(
    ("step", "has_state"),
    [
        ({"sql": "SELECT value, count(*) AS n FROM input GROUP BY value"}, True),
        ({"sql": "SELECT DISTINCT value FROM input"}, True),
        ({"dedupe": "value", "forever": True}, True),
        ({"sql": "SELECT value AS grouped FROM input"}, False),
    ],
)
def test_steps_that_may_keep_state(step: dict[str, object], has_state: bool) -> None:
    source = {"topic": "t", "format": "text"}
    facts = {"name": "p", "source": source, "steps": [step], "sink": {"console": True}}

    assert may_have_state(from_dict(facts)) is has_state


def test_number_is_the_one_in_the_checkpoint(tmp_path: Path) -> None:
    offsets = tmp_path / "q" / "offsets"
    offsets.mkdir(parents=True)
    for batch, number in ((9, "8"), (10, "16")):
        facts = {"batchWatermarkMs": 0, "conf": {SHUFFLE_PARTITIONS: number}}
        (offsets / str(batch)).write_text(f'v1\n{json.dumps(facts)}\n{{"t":{{"0":1}}}}')
    (offsets / ".10.crc").touch()
    files = LocalFiles(tmp_path)

    assert kept_partitions(files, "q") == 16
    assert kept_partitions(files, "other") is None
    (offsets / "11").write_text("v1\n")
    assert kept_partitions(files, "q") is None


def test_what_will_stay_is_told_before_the_first_batch() -> None:
    assert what_stays(6) == (
        "state is spread over 6 partitions, one for each core of the cluster, and stays so with this checkpoint; "
        "spark.sql.shuffle.partitions under options is another number"
    )


def test_number_that_cannot_be_had_is_told() -> None:
    assert what_cannot_be_had(6, {"new": None, "same": 6, "q": 200}) == [
        "q: its state stays spread over 200 partitions, as when its checkpoint began, not over 6"
    ]


def test_executors_are_waited_for_until_no_more_come() -> None:
    passed = 0.0

    def pause(seconds: float) -> None:
        nonlocal passed
        passed += seconds

    def report() -> tuple[int, int]:
        return (0, 2) if passed < 3 else (1, 4) if passed < 4 else (2, 8)

    assert steady(report, now=lambda: passed, pause=pause) == (2, 8)
    assert passed < 10
    # Nobody comes.
    assert steady(lambda: (0, 2), now=lambda: passed, pause=pause) == (0, 2)
