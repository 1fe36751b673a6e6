"""Anomalies of what was written are found where they are, and only there."""

from chaos.cluster.checker import writes
from chaos.cluster.checker.history import Outcome

from crash.checker.stories import HERE, THERE, Story


def test_an_acknowledged_record_that_is_gone_is_lost(story: Story) -> None:
    story.say(b"kept")
    story.send(b"gone", offset=1)
    story.send(b"nobody knows", outcome=Outcome.UNKNOWN)
    story.send(b"refused", outcome=Outcome.FAILED)

    (found,) = writes.lost_write(story.evidence)

    assert "gone" in found


def test_a_record_that_was_read_and_is_gone_is_lost(story: Story) -> None:
    story.say(b"kept")
    story.poll(0)
    story.poll(1, values=(b"gone",))

    (found,) = writes.lost_after_read(story.evidence)

    assert "gone" in found


def test_one_offset_with_two_values_is_inconsistent(story: Story) -> None:
    story.say(b"kept")
    story.poll(0)
    assert list(writes.inconsistent_offsets(story.evidence)) == []

    story.poll(0, values=(b"other",), process="misled")

    (found,) = writes.inconsistent_offsets(story.evidence)
    assert "misled" in found


def test_a_writer_told_an_offset_of_another_record_is_inconsistent(story: Story) -> None:
    story.say(b"kept")
    story.write(b"second")
    story.send(b"second", offset=0)

    (found,) = writes.inconsistent_offsets(story.evidence)

    assert "second" in found


def test_a_last_reader_with_another_value_is_inconsistent(story: Story) -> None:
    story.say(b"kept")
    story.evidence.final_committed["last"] = {HERE: {0: b"other"}}

    assert len(list(writes.inconsistent_offsets(story.evidence))) == 1


def test_a_record_at_another_offset_than_acknowledged_has_moved(story: Story) -> None:
    story.say(b"stays")
    story.write(b"moves")
    story.send(b"moves", offset=5)

    (found,) = writes.moved_write(story.evidence)

    assert "moves" in found


def test_a_value_twice_in_one_epoch_is_a_duplicate(story: Story) -> None:
    story.say(b"once")
    story.say(b"twice")
    story.write(b"twice", sequence=1)

    (found,) = writes.duplicate(story.evidence)

    assert "twice" in found


def test_a_value_twice_in_two_epochs_is_the_clients(story: Story) -> None:
    story.say(b"again", client="confluent")
    story.write(b"again", epoch=1)

    assert list(writes.duplicate(story.evidence)) == []
    assert len(list(writes.resent_by_client(story.evidence))) == 1
    assert list(writes.resent_by_our_client(story.evidence)) == []


def test_a_value_twice_in_two_epochs_of_our_own_client_is_ours(story: Story) -> None:
    story.say(b"again", client="klamm")
    story.write(b"again", epoch=1)

    assert len(list(writes.resent_by_our_client(story.evidence))) == 1


def test_a_sequence_left_out_is_a_gap(story: Story) -> None:
    story.write(b"0", sequence=0)
    story.write(b"1", sequence=1)
    story.write(b"other producer", producer=2, sequence=0)
    assert list(writes.sequence_gap(story.evidence)) == []

    story.write(b"3", sequence=3)

    assert len(list(writes.sequence_gap(story.evidence))) == 1


def test_sequences_wrap(story: Story) -> None:
    story.write(b"last", sequence=0x7FFFFFFF)
    story.write(b"first", sequence=0)

    assert list(writes.sequence_gap(story.evidence)) == []


def test_a_batch_of_an_old_epoch_after_one_of_a_newer_is_a_zombies(story: Story) -> None:
    story.write(b"old", epoch=1)
    story.write(b"new", epoch=2)
    assert list(writes.older_epoch_after_newer(story.evidence)) == []

    story.write(b"zombie", epoch=1)

    assert len(list(writes.older_epoch_after_newer(story.evidence))) == 1


def test_a_later_record_at_a_lower_offset_is_out_of_order(story: Story) -> None:
    story.send(b"first", offset=7)
    story.send(b"elsewhere", THERE, offset=3)
    story.send(b"nobody knows", outcome=Outcome.UNKNOWN)
    assert list(writes.nonmonotonic_send(story.evidence)) == []

    story.send(b"second", offset=6)

    assert len(list(writes.nonmonotonic_send(story.evidence))) == 1


def test_a_later_record_of_a_transaction_at_a_lower_offset_is_out_of_order(story: Story) -> None:
    transaction = story.begin()
    story.send(b"before", offset=9)
    story.send(b"first", offset=7, transaction=transaction)
    assert list(writes.int_nonmonotonic_send(story.evidence)) == []

    story.send(b"second", offset=6, transaction=transaction)

    assert len(list(writes.int_nonmonotonic_send(story.evidence))) == 1


def test_a_record_that_nobody_sent_is_a_phantom(story: Story) -> None:
    story.say(b"sent")
    story.write(b"made up")

    (found,) = writes.phantom(story.evidence)

    assert "made up" in found


def test_a_record_in_another_partition_than_it_was_sent_to_is_a_phantom(story: Story) -> None:
    story.send(b"astray", HERE, outcome=Outcome.UNKNOWN)
    story.write(b"astray", THERE)

    assert len(list(writes.phantom(story.evidence))) == 1
