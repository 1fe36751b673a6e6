"""Idempotence on one partition: what is appended, what is a duplicate, what is refused."""

import pytest

from klamm.base.errors import ApiError, ErrorCode
from klamm.log.state import producer_snapshot
from klamm.log.state.producers import ProducerStates, SequencedBatch

LAST = 2**31 - 1


class Producers:
    """A few words over ProducerStates: producer 7 sends batches, offsets count up."""

    def __init__(self) -> None:
        self.states = ProducerStates()
        self.offset = 0

    def send(
        self, sequence: int, count: int = 1, *, epoch: int = 0, transactional: bool = False
    ) -> SequencedBatch | None:
        known = self.states.check(7, epoch, sequence, count - 1, transactional)
        if known is None:
            last = self.offset + count - 1
            self.states.appended(7, epoch, sequence, self.offset, last, 1000, transactional)
            self.offset = last + 1
        return known

    def end(self, *, epoch: int = 0, coordinator_epoch: int = 0, abort: bool = False):
        self.states.check_marker(7, epoch, coordinator_epoch)
        done = self.states.marked(
            7, epoch, coordinator_epoch, offset=self.offset, timestamp=1000, is_abort=abort
        )
        self.offset += 1
        return done


def refused(code: ErrorCode):
    return pytest.raises(ApiError, check=lambda e: e.code is code)


def test_batches_in_sequence_are_new():
    producers = Producers()

    assert [producers.send(0, 3), producers.send(3, 2), producers.send(5)] == [None] * 3


def test_those_that_were_silent_for_longest_are_forgotten_first():
    states = ProducerStates()
    for offset, producer_id in enumerate([1, 2, 3, 4, 1, 5]):
        states.appended(producer_id, 0, offset, offset, offset, 1000, producer_id == 2)

    states.forget_oldest(3)

    # Of the others, 3 and 4 appended last before 1 did again; 2 has an open transaction.
    assert [state.producer_id for state in states] == [1, 2, 5]


def test_each_of_the_last_five_batches_is_known_with_its_first_offset():
    producers = Producers()
    for sequence in range(0, 12, 2):
        producers.send(sequence, 2)

    known = [producers.send(sequence, 2) for sequence in range(2, 12, 2)]

    assert [(batch.first_offset, batch.last_offset) for batch in known if batch] == [
        (2, 3), (4, 5), (6, 7), (8, 9), (10, 11),
    ]  # fmt: skip


def test_a_batch_older_than_the_last_five_is_out_of_order():
    producers = Producers()
    for sequence in range(6):
        producers.send(sequence)

    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        producers.send(0)


@pytest.mark.parametrize("sequence", [1, 3, 100])
def test_a_gap_or_another_cut_of_known_records_is_out_of_order(sequence: int):
    producers = Producers()
    producers.send(0, 2)

    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        producers.send(sequence)


def test_sequences_wrap_to_zero():
    producers = Producers()
    producers.send(LAST - 1, 2)

    assert producers.send(0) is None


def test_a_batch_across_the_wrap_is_recognised():
    producers = Producers()
    producers.send(LAST, 3)

    assert producers.send(LAST, 3) == SequencedBatch(LAST, 1, 0, 2, 1000)
    assert producers.send(2) is None


def test_an_unknown_producer_may_begin_anywhere():
    assert Producers().send(42) is None


def test_a_new_epoch_begins_at_zero():
    producers = Producers()
    producers.send(0)
    producers.send(1)

    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        producers.send(2, epoch=1)
    assert producers.send(0, epoch=1) is None


def test_a_batch_of_an_earlier_epoch_is_no_duplicate_of_one_in_this():
    """Sequence 0 again after an abort is new data, however much it looks like the old."""
    producers = Producers()
    producers.send(0)
    producers.send(0, epoch=1)

    assert producers.send(1, epoch=1) is None
    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        producers.send(0, epoch=0)


def test_a_refused_batch_changes_nothing():
    producers = Producers()
    producers.send(0)

    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        producers.send(5, epoch=1)

    assert producers.send(1) is None


def test_silent_producers_expire_but_not_in_a_transaction():
    states = ProducerStates()
    states.appended(1, 0, 0, 0, 0, 1000, False)
    states.appended(2, 0, 0, 1, 1, 1000, True)
    states.appended(3, 0, 0, 2, 2, 1500, False)

    assert states.expire(now=2000, expiry_ms=1000) == [1]
    assert [state.producer_id for state in states] == [2, 3]


# Transactions


def test_first_open_offset_is_that_of_the_earliest_open_transaction():
    states = ProducerStates()
    states.appended(1, 0, 0, 10, 11, 0, True)
    states.appended(2, 0, 0, 12, 12, 0, True)
    states.appended(1, 0, 2, 13, 13, 0, True)
    assert states.first_open_offset == 10

    states.marked(1, 0, 0, offset=14, timestamp=0, is_abort=False)
    assert states.first_open_offset == 12

    states.marked(2, 0, 0, offset=15, timestamp=0, is_abort=False)
    assert states.first_open_offset is None


def test_a_plain_write_inside_a_transaction_is_refused():
    producers = Producers()
    producers.send(0, transactional=True)

    with refused(ErrorCode.INVALID_TXN_STATE):
        producers.send(1)


def test_an_aborted_transaction_is_listed_with_the_stable_offset_after_it():
    states = ProducerStates()
    states.appended(1, 0, 0, 10, 11, 0, True)
    states.appended(2, 0, 0, 12, 12, 0, True)

    aborted = states.marked(2, 0, 0, offset=13, timestamp=0, is_abort=True)
    assert aborted is not None
    assert states.aborted_entry(aborted) == (2, 12, 13, 10)

    aborted = states.marked(1, 0, 0, offset=14, timestamp=0, is_abort=True)
    assert aborted is not None
    assert states.aborted_entry(aborted) == (1, 10, 14, 15)


def test_a_marker_without_a_transaction_ends_nothing_but_moves_the_epoch():
    producers = Producers()
    producers.send(0)

    assert producers.end(epoch=1) is None

    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        producers.send(1, epoch=0)
    assert producers.send(0, epoch=1) is None


def test_markers_of_an_older_producer_epoch_or_coordinator_are_refused():
    producers = Producers()
    producers.send(0, epoch=3, transactional=True)
    producers.end(epoch=3, coordinator_epoch=5)

    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        producers.end(epoch=2, coordinator_epoch=5)
    with refused(ErrorCode.TRANSACTION_COORDINATOR_FENCED):
        producers.end(epoch=3, coordinator_epoch=4)


# Snapshots


def test_a_snapshot_brings_back_the_last_batch_and_the_open_transaction():
    producers = Producers()
    producers.send(LAST, 3, transactional=True)
    producers.send(2, 2, transactional=True)

    restored = producer_snapshot.parse(producer_snapshot.to_bytes(producers.states))

    assert restored is not None
    assert restored.first_open_offset == 0
    assert restored.check(7, 0, 2, 1, True) == SequencedBatch(2, 3, 3, 4, 1000)
    assert restored.check(7, 0, 4, 0, True) is None
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        restored.check(7, 0, LAST, 2, True)


def test_a_snapshot_after_a_marker_knows_the_epoch():
    producers = Producers()
    producers.send(0, transactional=True)
    producers.end(epoch=1)

    restored = producer_snapshot.parse(producer_snapshot.to_bytes(producers.states))

    assert restored is not None
    assert restored.check(7, 1, 0, 0, True) is None
    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        restored.check(7, 0, 1, 0, True)


def test_snapshot_bytes_are_those_of_kafka():
    """Recorded from a 4.3.1 broker: one producer that sent 300 records in one batch."""
    states = ProducerStates()
    states.appended(248, 0, 0, 0, 299, 1299, False)

    assert producer_snapshot.to_bytes(states).hex() == (
        "0001" "f83f3a52" "00000001"
        "00000000000000f8" "0000" "0000012b" "000000000000012b" "0000012b"
        "0000000000000513" "ffffffff" "ffffffffffffffff"
    )  # fmt: skip
    assert producer_snapshot.to_bytes(ProducerStates()).hex() == "000148674bc700000000"


@pytest.mark.parametrize("cut", range(0, 56, 5))
def test_a_torn_snapshot_is_not_believed(cut: int):
    states = ProducerStates()
    states.appended(1, 0, 0, 0, 0, 1000, False)

    assert producer_snapshot.parse(producer_snapshot.to_bytes(states)[:cut]) is None


def test_a_flipped_bit_is_not_believed():
    states = ProducerStates()
    states.appended(1, 0, 0, 0, 0, 1000, False)
    data = bytearray(producer_snapshot.to_bytes(states))
    data[20] ^= 1

    assert producer_snapshot.parse(bytes(data)) is None
