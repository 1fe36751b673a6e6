"""Anomalies of what was read."""

from chaos.cluster.checker import reads

from crash.checker.stories import HERE, Story


def five(story: Story) -> None:
    for number in range(5):
        story.say(b"%d" % number)


def test_what_the_last_readers_do_not_find_is_unseen(story: Story) -> None:
    five(story)
    story.read_to_the_end()
    assert list(reads.unseen(story.evidence)) == []

    del story.evidence.final_committed["final committed"][HERE][3]

    (found,) = reads.unseen(story.evidence)
    assert "@3" in found


def test_a_record_whose_offset_its_client_does_not_know_may_be_anywhere(story: Story) -> None:
    five(story)
    story.send(b"4")
    story.read_to_the_end()
    assert list(reads.unseen(story.evidence)) == []

    story.send(b"5")

    assert len(list(reads.unseen(story.evidence))) == 2


def test_what_was_aborted_may_stay_unseen(story: Story) -> None:
    transaction = story.begin()
    story.send(b"v", offset=story.write(b"v", committed=False), transaction=transaction)
    story.end(transaction, commit=False)
    story.read_to_the_end()

    assert list(reads.unseen(story.evidence)) == []


def test_a_last_reader_that_finds_something_else_than_the_log_has_is_told_of(story: Story) -> None:
    five(story)
    story.write(b"aborted", committed=False)
    story.read_to_the_end()
    assert list(reads.readers_disagree(story.evidence)) == []

    story.evidence.final_committed["final committed"][HERE][5] = b"aborted"
    del story.evidence.final_uncommitted["final uncommitted"][HERE][0]

    assert len(list(reads.readers_disagree(story.evidence))) == 2


def test_a_poll_that_goes_back_in_itself_is_found(story: Story) -> None:
    five(story)
    story.poll(0, 1)
    story.poll(0, 1, session=2)
    assert list(reads.int_nonmonotonic_poll(story.evidence)) == []

    story.poll(3, 2)

    assert len(list(reads.int_nonmonotonic_poll(story.evidence))) == 1


def test_polls_of_a_transaction_that_go_back_are_found(story: Story) -> None:
    five(story)
    transaction = story.begin()
    story.poll(2, transaction=transaction)
    story.poll(1, transaction=transaction)

    assert len(list(reads.int_nonmonotonic_poll(story.evidence))) == 1


def test_a_session_that_goes_back_is_found(story: Story) -> None:
    five(story)
    story.poll(0, 1)
    story.poll(0, session=2)
    assert list(reads.nonmonotonic_poll(story.evidence)) == []

    story.poll(1)

    assert len(list(reads.nonmonotonic_poll(story.evidence))) == 1


def test_a_record_left_out_in_a_poll_is_found(story: Story) -> None:
    five(story)

    story.poll(0, 2)

    (found,) = reads.int_poll_skip(story.evidence)
    assert "[1]" in found


def test_a_record_left_out_between_polls_is_found(story: Story) -> None:
    five(story)
    story.poll(0)
    story.poll(3, session=2)
    assert list(reads.poll_skip(story.evidence)) == []

    story.poll(2)

    (found,) = reads.poll_skip(story.evidence)
    assert "[1]" in found


def test_readers_of_committed_records_pass_aborted_ones(story: Story) -> None:
    story.say(b"0")
    story.write(b"aborted", committed=False)
    story.say(b"2")
    story.poll(0, 2)
    assert list(reads.poll_skip(story.evidence)) == []

    story.poll(0, 2, committed=False, session=2)

    assert len(list(reads.poll_skip(story.evidence))) == 1
