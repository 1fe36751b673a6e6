"""Dead letters are sent again, each once, in whatever portions one asks for them. No Spark."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Producer

from klamm.pipeline.place import Place
from klamm.pipeline.quality import retrying
from klamm.pipeline.quality.retrying import Retried, Wanted, retry_dead_letters
from klamm.pipeline.sources.trouble import SourceFailed
from pipeline.reading.records import SECONDS, a_place, create, put, records_of


class Letters:
    """A topic with its dead-letter topic."""

    def __init__(self, bootstrap: str, name: str, folder: Path) -> None:
        self.bootstrap, self.topic, self.dead = bootstrap, name, f"{name}.dead"
        self.place: Place = a_place(bootstrap, folder)
        self.wanted = Wanted(pipeline="flow", topic=self.dead)
        create(bootstrap, self.topic, self.dead, partitions=2)

    def write(
        self,
        *values: str,
        check: str = "sane",
        partition: int = 0,
        pipeline: str = "flow",
        **more: str,
    ) -> None:
        facts = {
            "klamm.topic": self.topic,
            "klamm.partition": "1",
            "klamm.timestamp": "1700000000123",
        }
        facts |= {"klamm.pipeline": pipeline, "klamm.check": check, **more}
        headers = [("own", b"\x00"), *((k, v.encode()) for k, v in facts.items() if v)]
        for value in values:
            put(
                self.bootstrap,
                self.dead,
                value.encode(),
                partition=partition,
                key=b"k",
                headers=headers,
            )

    def retry(self, **more: object) -> Retried:
        return retry_dead_letters(self.place, replace(self.wanted, **more), execute=True)  # type: ignore[arg-type]

    def sent(self) -> list[str]:
        return [
            (message.value() or b"").decode() for message in records_of(self.bootstrap, self.topic)
        ]


@pytest.fixture
def letters(bootstrap: str, tmp_path: Path, request: pytest.FixtureRequest) -> Letters:
    name = request.node.name.removeprefix("test_")[:80].replace("[", ".").replace("]", "")
    return Letters(bootstrap, name, tmp_path)


def test_letter_becomes_the_record_that_it_was(letters: Letters) -> None:
    letters.write("a")

    result = letters.retry()

    [record] = records_of(letters.bootstrap, letters.topic)
    assert (record.key(), record.value(), record.headers()) == (b"k", b"a", [("own", b"\x00")])
    assert (record.partition(), record.timestamp()[1]) == (1, 1700000000123)
    assert result == Retried(1, {"sane": 1}, {letters.topic: 1})  # type: ignore[arg-type]


def test_each_letter_is_sent_once_over_several_retries(letters: Letters) -> None:
    letters.write("a", "b")
    letters.write("c", partition=1)
    first = letters.retry()
    letters.write("d")

    counts = [first.sent, letters.retry().sent, letters.retry().sent]

    assert counts == [3, 1, 0]
    assert sorted(letters.sent()) == ["a", "b", "c", "d"]


def test_retry_of_one_check_leaves_the_others_for_later(letters: Letters) -> None:
    letters.write("a", check="late")
    letters.write("b", check="sane")
    letters.write("c", check="late")

    sent = [
        letters.retry(check="sane").sent,
        letters.retry().sent,
        letters.retry(check="late").sent,
    ]

    assert sent == [1, 2, 0]
    assert sorted(letters.sent()) == ["a", "b", "c"]


def test_limit_goes_on_where_the_last_retry_ended(letters: Letters) -> None:
    letters.write("a", "b", "c", "d", "e")

    sent = [letters.retry(limit=2).sent for _ in range(4)]

    assert sent == [2, 2, 1, 0]
    assert letters.sent() == ["a", "b", "c", "d", "e"]


def test_dry_run_counts_and_changes_nothing(letters: Letters) -> None:
    letters.write("a", "b")

    dry = retry_dead_letters(letters.place, letters.wanted)

    assert (dry.sent, letters.sent()) == (2, [])
    assert letters.retry().sent == 2


def test_letters_of_other_pipelines_and_of_no_topic_are_not_sent(letters: Letters) -> None:
    letters.write("a", pipeline="other")
    letters.write("b", **{"klamm.topic": "", "klamm.file": "x.json"})
    letters.write("c")

    result = letters.retry()

    assert (result.sent, result.without_topic, letters.sent()) == (1, 1, ["c"])


def test_letters_between_two_times_are_sent(letters: Letters) -> None:
    for value, timestamp in (("a", 1000), ("b", 2000), ("c", 3000)):
        facts = [("klamm.topic", letters.topic), ("klamm.pipeline", "flow"), ("klamm.check", "x")]
        put(letters.bootstrap, letters.dead, value.encode(), headers=facts, timestamp=timestamp)

    assert letters.retry(since_ms=1500, until_ms=2500).sent == 1
    assert letters.retry().sent == 1
    assert sorted(letters.sent()) == ["b", "c"]


def test_retry_that_dies_in_a_transaction_has_sent_none_of_it(
    letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrying, "CHUNK", 2)
    letters.write("a", "b", "c", "d", "e")

    class Died(Exception):
        pass

    def die(sent: int) -> None:
        raise Died

    with pytest.raises(Died):
        retry_dead_letters(letters.place, letters.wanted, execute=True, committed=die)
    half = Producer(
        {"bootstrap.servers": letters.bootstrap, "transactional.id": retrying.group_of("flow")}
    )
    half.init_transactions(SECONDS)
    half.begin_transaction()
    half.produce(letters.topic, b"half")
    half.flush(SECONDS)

    assert letters.retry().sent == 3
    assert sorted(letters.sent()) == ["a", "b", "c", "d", "e"]


def test_missing_topic_is_told_with_the_nearest(letters: Letters) -> None:
    with pytest.raises(SourceFailed, match=f"there is no topic {letters.dead}s on .*did you mean"):
        retry_dead_letters(letters.place, replace(letters.wanted, topic=f"{letters.dead}s"))


def test_letter_whose_topic_is_gone_is_not_sent_to_nowhere(letters: Letters) -> None:
    letters.write("a", **{"klamm.topic": "gone"})

    with pytest.raises(SourceFailed, match="there is no topic gone on"):
        letters.retry()


def test_retrying_and_planning_load_no_spark() -> None:
    imports = "import klamm.pipeline.quality.retrying, klamm.pipeline.quality.policy, sys"

    asked = [sys.executable, "-c", f"{imports}; print('pyspark' in sys.modules)"]

    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == "False\n"
