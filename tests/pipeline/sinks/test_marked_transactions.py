"""A batch is in the topic once, whatever became of the writer. No Spark: this is between the client and the broker."""

import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from klamm.pipeline.sinks.markers import Markers, MarkerShelf
from klamm.pipeline.sinks.parts import PartWriter
from klamm.pipeline.sinks.transaction import Columns, MarkedTransactions
from klamm.pipeline.sinks.trouble import MarkerLost, SinkFailed, Superseded
from pipeline.sinks import topics
from support.brokers import start_klamm

PATIENCE_SECONDS = 60


def a_writer(bootstrap: str, name: str) -> MarkedTransactions:
    return MarkedTransactions(bootstrap=bootstrap, topic=name, id=f"query-of-{name}")


def records(*values: bytes | None) -> list[Columns]:
    return [([None] * len(values), values, None)]


def test_first_writer_of_an_id_finds_no_marker(bootstrap: str) -> None:
    topics.create(bootstrap, "first")
    writer = a_writer(bootstrap, "first")

    assert writer.open() is None
    assert not writer.is_written(0)
    writer.close()


def test_next_writer_finds_the_batch_that_was_committed(bootstrap: str) -> None:
    topics.create(bootstrap, "next")
    writer = a_writer(bootstrap, "next")
    writer.open()
    writer.write(0, records(b"a", b"b"))
    writer.write(1, records(b"c"))
    writer.close()

    heir = a_writer(bootstrap, "next")

    assert heir.open() == 1
    assert [heir.is_written(batch) for batch in (0, 1, 2)] == [True, True, False]
    assert sorted(topics.committed_values(bootstrap, "next")) == [b"a", b"b", b"c"]
    heir.close()


def test_empty_batch_leaves_its_marker(bootstrap: str) -> None:
    topics.create(bootstrap, "empty")
    writer = a_writer(bootstrap, "empty")
    writer.open()
    writer.write(0, [])
    writer.close()

    heir = a_writer(bootstrap, "empty")

    assert heir.open() == 0
    heir.close()


def test_transaction_that_a_dead_writer_left_open_never_happened(bootstrap: str) -> None:
    topics.create(bootstrap, "left-open")
    dead = Producer({"bootstrap.servers": bootstrap, "transactional.id": "query-of-left-open"})
    dead.init_transactions(topics.SECONDS)
    dead.begin_transaction()
    dead.produce("left-open", b"half")
    dead.flush(topics.SECONDS)

    writer = a_writer(bootstrap, "left-open")
    assert writer.open() is None
    writer.write(0, records(b"whole"))

    assert topics.committed_values(bootstrap, "left-open") == [b"whole"]
    writer.close()


def test_markers_can_be_read_though_a_dead_run_left_one_undecided(bootstrap: str) -> None:
    topics.create(bootstrap, "undecided")
    dead = MarkedTransactions(bootstrap=bootstrap, topic="undecided", id="q.sink.2.1")
    dead.open()
    dead.write(0, records(b"whole"))
    dead.begin(1)

    shelf = MarkerShelf(bootstrap=bootstrap, topic="undecided", prefix="q.sink", settings={})
    found = shelf.read(writers=2)

    assert found == Markers({2: (None, 0)})
    dead.close()


def test_writer_that_was_fenced_prints_nothing(
    bootstrap: str, capfd: pytest.CaptureFixture[str]
) -> None:
    topics.create(bootstrap, "quiet")
    old, new = a_writer(bootstrap, "quiet"), a_writer(bootstrap, "quiet")
    old.open()
    old.write(0, records(b"a"))
    new.open()

    with pytest.raises(Superseded):
        old.begin(1)
    old.close()
    new.close()

    assert capfd.readouterr().err == ""


def test_reading_the_markers_prints_nothing(
    bootstrap: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The client that asks for groups is gone before its last event is served, and would say so."""
    topics.create(bootstrap, "asked")
    shelf = MarkerShelf(bootstrap=bootstrap, topic="asked", prefix="q.asked", settings={})

    for _ in range(20):
        shelf.read(writers=1)

    assert capfd.readouterr().err == ""


def test_older_writer_is_told_that_it_was_superseded(bootstrap: str) -> None:
    topics.create(bootstrap, "superseded")
    older, newer = a_writer(bootstrap, "superseded"), a_writer(bootstrap, "superseded")
    older.open()
    newer.open()
    newer.write(0, records(b"new"))

    with pytest.raises(Superseded, match="a newer run with the same checkpoint"):
        older.write(0, records(b"old"))

    assert topics.committed_values(bootstrap, "superseded") == [b"new"]
    newer.close()
    older.close()


def test_writer_is_told_that_it_was_superseded_in_the_middle_of_a_batch(bootstrap: str) -> None:
    topics.create(bootstrap, "overtaken")
    older, newer = a_writer(bootstrap, "overtaken"), a_writer(bootstrap, "overtaken")
    older.open()

    def overtaken() -> Iterator[Columns]:
        yield from records(b"old")
        newer.open()
        newer.write(0, records(b"new"))
        yield from records(b"old as well")

    with pytest.raises(Superseded, match="a newer run with the same checkpoint"):
        older.write(0, overtaken())

    assert topics.committed_values(bootstrap, "overtaken") == [b"new"]
    newer.close()
    older.close()


def test_later_batch_without_a_marker_is_refused(bootstrap: str) -> None:
    topics.create(bootstrap, "lost")
    writer = a_writer(bootstrap, "lost")
    writer.open()

    writer.check_marker(0)
    with pytest.raises(MarkerLost, match="batch 7 may or may not be in topic lost already"):
        writer.check_marker(7)
    writer.close()


def a_part(
    bootstrap: str,
    topic: str,
    batch_id: int,
    *,
    may_be_first: bool = False,
    skips_lost: bool = False,
) -> PartWriter:
    return PartWriter(
        bootstrap=bootstrap,
        topic=topic,
        prefix=f"part-of-{topic}",
        batch_id=batch_id,
        may_be_first=may_be_first,
        skips_lost=skips_lost,
    )


def test_attempt_that_broke_off_is_repeated_whole(bootstrap: str) -> None:
    topics.create(bootstrap, "broke-off")

    def breaks() -> Iterator[Columns]:
        yield from records(b"half")
        raise ZeroDivisionError

    part = a_part(bootstrap, "broke-off", 0)
    with pytest.raises(ZeroDivisionError):
        part.write(0, breaks())

    # Nobody has to wait for the half that is there.
    assert topics.committed_values(bootstrap, "broke-off") == []
    assert part.write(0, records(b"half", b"other half"))
    assert sorted(topics.committed_values(bootstrap, "broke-off")) == [b"half", b"other half"]


def test_attempt_after_one_whose_report_was_lost_writes_nothing(bootstrap: str) -> None:
    topics.create(bootstrap, "report-lost")
    part = a_part(bootstrap, "report-lost", 0)
    part.write(0, records(b"a"))

    assert not part.write(0, records(b"a"))
    assert topics.committed_values(bootstrap, "report-lost") == [b"a"]


def test_worker_goes_on_with_its_client_after_another_one_had_the_id(bootstrap: str) -> None:
    topics.create(bootstrap, "two-workers")
    a_part(bootstrap, "two-workers", 0).write(0, records(b"a"))
    other_worker = MarkedTransactions(
        bootstrap=bootstrap, topic="two-workers", id="part-of-two-workers.0"
    )
    assert other_worker.open() == 0
    other_worker.write(1, records(b"b"))

    assert not a_part(bootstrap, "two-workers", 1).write(0, records(b"b"))
    assert a_part(bootstrap, "two-workers", 2).write(0, records(b"c"))
    assert sorted(topics.committed_values(bootstrap, "two-workers")) == [b"a", b"b", b"c"]
    other_worker.close()


def test_part_without_a_marker_is_refused_unless_it_may_be_the_first(bootstrap: str) -> None:
    topics.create(bootstrap, "part-lost")

    with pytest.raises(MarkerLost):
        a_part(bootstrap, "part-lost", 3).write(0, records(b"a"))
    assert a_part(bootstrap, "part-lost", 3, may_be_first=True).write(0, records(b"a"))


def test_part_that_is_skipped_leaves_a_marker_alone(bootstrap: str) -> None:
    topics.create(bootstrap, "part-skipped")

    assert not a_part(bootstrap, "part-skipped", 3, skips_lost=True).write(0, records(b"a"))
    assert a_part(bootstrap, "part-skipped", 4).write(0, records(b"b"))
    assert topics.committed_values(bootstrap, "part-skipped") == [b"b"]


@pytest.mark.parametrize(
    ("batch_id", "by_writers", "may_be"),
    [
        (0, {2: (None, None)}, True),
        (5, {2: (4, None)}, False),
        (5, {2: (5, None)}, False),
        # Others wrote the batch before, so these have begun with this one.
        (5, {2: (5, None), 1: (4,)}, True),
        (5, {2: (None, None), 1: (4,)}, True),
        (5, {2: (5, None), 1: (3,)}, False),
    ],
)
def test_part_without_a_marker_may_be_the_first_where_others_wrote_before(
    batch_id: int, by_writers: dict[int, tuple[int | None, ...]], may_be: bool
) -> None:
    assert Markers(by_writers).may_be_first(batch_id, writers=2) is may_be


def test_record_that_the_topic_does_not_take_is_one_sentence(bootstrap: str) -> None:
    topics.create(bootstrap, "small", config={"max.message.bytes": "2000"})
    writer = a_writer(bootstrap, "small")
    writer.open()

    with pytest.raises(SinkFailed, match=r"topic small could not be written: .*MSG_SIZE_TOO_LARGE"):
        writer.write(0, records(b"x" * 3000))

    assert topics.committed_values(bootstrap, "small") == []
    writer.close()


def test_large_records_pass_where_the_topic_takes_them(bootstrap: str) -> None:
    topics.create(bootstrap, "large", config={"max.message.bytes": "20000000"})
    large = [bytes([number]) * 3_000_000 for number in range(4)]
    writer = a_writer(bootstrap, "large")
    writer.open()

    writer.write(0, records(*large))

    assert sorted(topics.committed_values(bootstrap, "large")) == large
    writer.close()


def test_memory_for_what_waits_is_bounded(bootstrap: str) -> None:
    topics.create(bootstrap, "bounded")
    settings = {"queue.buffering.max.messages": "100"}
    writer = MarkedTransactions(
        bootstrap=bootstrap, topic="bounded", id="bounded", settings=settings
    )
    writer.open()

    writer.write(0, records(*(b"%d" % number for number in range(5000))))

    assert len(topics.committed_values(bootstrap, "bounded")) == 5000
    writer.close()


def test_setting_that_the_client_does_not_know_is_named(bootstrap: str) -> None:
    writer = MarkedTransactions(
        bootstrap=bootstrap, topic="any", id="any", settings={"no.such.thing": "1"}
    )

    with pytest.raises(SinkFailed, match=r"no\.such\.thing"):
        writer.open()


def test_writer_goes_on_when_its_only_broker_was_killed_and_came_back() -> None:
    broker = start_klamm()
    topics.create(broker.address, "killed")
    writer = a_writer(broker.address, "killed")
    writer.open()
    writer.write(0, records(b"before"))
    broker.kill()
    broker = start_klamm(home=broker.home, port=int(broker.address.rpartition(":")[2]))

    # In a thread that nobody waits for: the client's own time limits did not hold once.
    writing = threading.Thread(target=writer.write, args=(1, records(b"after")), daemon=True)
    writing.start()
    writing.join(PATIENCE_SECONDS)

    assert not writing.is_alive(), "the writer hangs"
    assert sorted(topics.committed_values(broker.address, "killed")) == [b"after", b"before"]
    writer.close()
    broker.stop()
