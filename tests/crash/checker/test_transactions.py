"""Anomalies of transactions."""

import pytest
from chaos.cluster.checker import transactions
from chaos.cluster.checker.evidence import Log
from chaos.cluster.checker.history import Outcome, Transaction

from crash.checker.stories import COPY, HERE, THERE, Story


def say_in(story: Story, transaction: Transaction, value: bytes, **more: object) -> None:
    story.send(value, offset=story.write(value, **more), transaction=transaction)


def test_a_reader_of_committed_records_that_has_an_aborted_one_is_found(story: Story) -> None:
    transaction = story.begin()
    say_in(story, transaction, b"v")
    story.end(transaction, commit=False)
    story.poll(0, committed=False)
    assert list(transactions.aborted_read(story.evidence)) == []

    story.poll(0)

    assert len(list(transactions.aborted_read(story.evidence))) == 1


def test_a_last_reader_that_has_an_aborted_record_is_found(story: Story) -> None:
    transaction = story.begin()
    say_in(story, transaction, b"v")
    story.end(transaction, commit=False)
    story.evidence.final_committed["last"] = {HERE: {0: b"v"}}

    assert len(list(transactions.aborted_read(story.evidence))) == 1


def test_a_reader_of_a_record_whose_write_failed_is_found(story: Story) -> None:
    story.send(b"v", outcome=Outcome.FAILED)
    story.write(b"v")
    story.poll(0)

    assert len(list(transactions.aborted_read(story.evidence))) == 1


def test_a_read_before_the_commit_was_asked_for_is_dirty(story: Story) -> None:
    transaction = story.begin()
    say_in(story, transaction, b"v")
    story.poll(0, committed=False)
    story.poll(0, process="early")
    story.end(transaction)
    story.poll(0, process="in time")

    (found,) = transactions.dirty_read(story.evidence)

    assert "early" in found


def test_a_transaction_that_reads_what_it_wrote_is_found(story: Story) -> None:
    story.say(b"other")
    transaction = story.begin()
    say_in(story, transaction, b"own")
    story.poll(0, transaction=transaction)
    assert list(transactions.precommitted_read(story.evidence)) == []

    story.poll(1, transaction=transaction)

    assert len(list(transactions.precommitted_read(story.evidence))) == 1


@pytest.mark.parametrize(
    ("commit", "outcome", "shown", "is_torn"),
    [
        (True, Outcome.OK, (True, True), False),
        (True, Outcome.OK, (True, False), True),
        (True, Outcome.OK, (False, False), True),
        (False, Outcome.OK, (False, False), False),
        (False, Outcome.OK, (True, False), True),
        (True, Outcome.UNKNOWN, (True, True), False),
        (True, Outcome.UNKNOWN, (False, False), False),
        (True, Outcome.UNKNOWN, (True, False), True),
    ],
)
def test_a_transaction_is_seen_whole_or_not_at_all(
    story: Story, commit: bool, outcome: Outcome, shown: tuple[bool, bool], is_torn: bool
) -> None:
    transaction = story.begin()
    for place, committed in zip((HERE, THERE), shown, strict=True):
        value = place.partition.to_bytes()
        offset = story.write(value, place, committed=committed)
        story.send(value, place, offset=offset, transaction=transaction)
    story.end(transaction, commit=commit, outcome=outcome)

    assert bool(list(transactions.torn_transaction(story.evidence))) is is_torn


def test_a_transaction_without_an_end_is_found(story: Story) -> None:
    story.write(b"decided", committed=False)
    assert list(transactions.never_ended(story.evidence)) == []

    story.write(b"open", committed=None)

    assert len(list(transactions.never_ended(story.evidence))) == 1


def test_transactions_that_read_each_other_in_a_circle_are_found(story: Story) -> None:
    first, second, third = (story.begin(name=name) for name in ("a", "b", "c"))
    for transaction, value in ((first, b"1"), (second, b"2"), (third, b"3")):
        say_in(story, transaction, value)
    story.poll(0, transaction=second)
    story.poll(1, transaction=third)
    assert list(transactions.cycle_of_reads(story.evidence)) == []

    story.poll(2, transaction=first)

    (found,) = transactions.cycle_of_reads(story.evidence)
    assert found.count("->") == 2


def test_what_is_written_after_the_fence_is_a_zombies(story: Story) -> None:
    old = story.begin(run=1)
    say_in(story, old, b"before")
    story.take_over(2)
    assert list(transactions.zombie_write(story.evidence)) == []

    say_in(story, old, b"after")

    (found,) = transactions.zombie_write(story.evidence)
    assert "after" in found


def test_a_commit_after_the_fence_is_a_zombies(story: Story) -> None:
    old, empty = story.begin(run=1), story.begin(run=1)
    say_in(story, old, b"before")
    story.take_over(2)
    story.end(empty)
    assert list(transactions.zombie_write(story.evidence)) == []

    story.end(old)

    (found,) = transactions.zombie_write(story.evidence)
    assert "committed" in found


def test_the_newest_owner_is_no_zombie(story: Story) -> None:
    story.take_over(1)
    story.take_over(2)
    new = story.begin(run=2)
    say_in(story, new, b"v")
    story.end(new)

    assert list(transactions.zombie_write(story.evidence)) == []


def test_a_copy_has_every_record_once(story: Story) -> None:
    story.evidence.copies["copy"] = "topic"
    story.evidence.logs[COPY] = Log()
    for value in (b"0", b"1", b"2"):
        story.write(value)
    story.write(b"aborted", committed=False)
    for value in (b"x.0=0", b"x.1=1", b"x.2=2"):
        story.write(value, COPY)
    story.write(b"x.3=2", COPY, committed=False)
    story.write(b"0", epoch=1)
    story.write(b"x.9=0", COPY)
    assert list(transactions.copied_wrong(story.evidence)) == []

    story.write(b"x.4=1", COPY)
    story.write(b"x.5=aborted", COPY)
    story.write(b"3")

    assert len(list(transactions.copied_wrong(story.evidence))) == 3
