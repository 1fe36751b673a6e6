"""The rules of sequences, one by one; then all of them at once against a broker that keeps the real one's books."""

from collections import deque
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from klamm.base.errors import ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client.producer.accumulator import Accumulator
from klamm.client.producer.batch import Batch, ProducerId
from klamm.client.producer.sequences import MAX_EPOCH, Sequences
from klamm.protocol.records.reader import Record

P = TopicPartition("topic", 0)
Q = TopicPartition("topic", 1)


def a_batch(count: int = 1, partition: TopicPartition = P) -> Batch:
    batch = Batch(partition, 0.0)
    batch.records = [Record()] * count
    return batch


def sequences_of(producer: ProducerId | None = None, *, transactional: bool = False) -> Sequences:
    """A producer whose first batch to P was acknowledged, with sequence 0."""
    sequences = Sequences(5, transactional)
    sequences.begin(producer or ProducerId(7, 0))
    (first,) = send(sequences, 1)
    sequences.returned(first)
    sequences.acked(first)
    return sequences


def send(sequences: Sequences, count: int, records: int = 1) -> list[Batch]:
    batches = [a_batch(records) for _ in range(count)]
    for batch in batches:
        assert sequences.may_send(batch)
        sequences.sent(batch)
    return batches


def test_first_batch_of_a_producer_travels_alone() -> None:
    sequences = Sequences(5)
    sequences.begin(ProducerId(7, 0))
    (first,) = send(sequences, 1)

    assert not sequences.may_send(a_batch())
    assert sequences.may_send(a_batch(partition=Q))
    sequences.returned(first)
    sequences.acked(first)
    assert sequences.may_send(a_batch())


def test_five_batches_may_be_on_their_way_and_count_on() -> None:
    sequences = sequences_of()

    batches = send(sequences, 5, records=10)

    assert [batch.base_sequence for batch in batches] == [1, 11, 21, 31, 41]
    assert not sequences.may_send(a_batch())


def test_only_the_oldest_of_those_to_be_repeated_goes_out() -> None:
    sequences = sequences_of()
    one, two = send(sequences, 2)
    sequences.returned(one)
    sequences.returned(two)

    assert (sequences.may_send(one), sequences.may_send(two)) == (True, False)
    sequences.sent(one)
    sequences.returned(one)
    sequences.acked(one)
    assert sequences.may_send(two)
    assert (two.base_sequence, two.producer) == (2, ProducerId(7, 0))


def test_refused_batch_leaves_a_hole_that_a_new_epoch_closes() -> None:
    sequences = sequences_of()
    one, two = send(sequences, 2)
    sequences.returned(one)
    sequences.failed(one, is_known=True)

    assert not sequences.may_send(two)
    sequences.returned(two)
    assert sequences.out_of_order(two)
    assert sequences.may_send(two)
    assert (two.producer, two.base_sequence) == (ProducerId(7, 1), 0)


def test_other_partitions_change_over_when_nothing_of_the_old_epoch_is_pending() -> None:
    sequences = sequences_of()
    other = a_batch(partition=Q)
    assert sequences.may_send(other)
    sequences.sent(other)
    (one,) = send(sequences, 1)
    sequences.returned(one)
    sequences.failed(one, is_known=True)
    (new,) = send(sequences, 1)

    assert new.producer == ProducerId(7, 1)
    assert not sequences.may_send(a_batch(partition=Q))
    sequences.returned(other)
    sequences.acked(other)
    later = a_batch(partition=Q)
    assert sequences.may_send(later)
    sequences.sent(later)
    assert (later.producer, later.base_sequence) == (ProducerId(7, 1), 0)


def test_batch_that_timed_out_is_settled_by_the_next_answer() -> None:
    sequences = sequences_of()
    one, two = send(sequences, 2)
    sequences.returned(one)
    sequences.failed(one, is_known=False)

    assert not sequences.may_send(a_batch())
    sequences.returned(two)
    sequences.acked(two)
    (three,) = send(sequences, 1)
    assert (three.producer.epoch, three.base_sequence) == (0, 3)


def test_batch_that_timed_out_and_never_arrived_costs_an_epoch() -> None:
    sequences = sequences_of()
    one, two = send(sequences, 2)
    sequences.returned(one)
    sequences.failed(one, is_known=False)
    sequences.returned(two)

    assert sequences.out_of_order(two)
    assert sequences.may_send(two)
    assert (two.producer.epoch, two.base_sequence) == (1, 0)


def test_last_epoch_asks_for_a_new_id() -> None:
    sequences = sequences_of(ProducerId(7, MAX_EPOCH))
    (one,) = send(sequences, 1)
    sequences.returned(one)
    sequences.failed(one, is_known=True)

    assert sequences.needs_new_id
    assert not sequences.may_send(a_batch())
    sequences.begin(ProducerId(8, 0))
    (two,) = send(sequences, 1)
    assert (two.producer, two.base_sequence) == (ProducerId(8, 0), 0)


def test_transaction_does_not_raise_its_epoch_by_itself() -> None:
    sequences = sequences_of(transactional=True)
    (one,) = send(sequences, 1)
    sequences.returned(one)

    assert not sequences.out_of_order(one)
    sequences.failed(one, is_known=True)
    assert sequences.has_holes
    assert not sequences.may_send(a_batch())
    sequences.begin(ProducerId(7, 1))
    (two,) = send(sequences, 1)
    assert (two.producer, two.base_sequence) == (ProducerId(7, 1), 0)


@dataclass
class Broker:
    """One partition as Kafka keeps it: epoch, last sequence, and the last five batches of the producer."""

    epoch: int = -1
    recent: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=5))
    next_sequence: int = 0
    log: list[Batch] = field(default_factory=list)

    def append(self, batch: Batch) -> ErrorCode:
        key = (batch.base_sequence, batch.count)
        if batch.producer.epoch < self.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        is_known = self.epoch >= 0
        if batch.producer.epoch > self.epoch:
            if is_known and batch.base_sequence != 0:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            self.recent.clear()
        elif key in self.recent:
            return ErrorCode.NONE
        elif batch.base_sequence != self.next_sequence:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        self.epoch = batch.producer.epoch
        self.recent.append(key)
        self.next_sequence = batch.base_sequence + batch.count
        self.log.append(batch)
        return ErrorCode.NONE


# What happens to one request: it arrives or not, its answer does or not, or the broker refuses it for now.
FATES = st.sampled_from(["answered", "request lost", "answer lost", "refused"])


@given(fates=st.lists(FATES, max_size=60), counts=st.lists(st.integers(1, 3), max_size=15))
def test_every_batch_is_written_once_and_in_order(fates: list[str], counts: list[int]) -> None:
    sequences = Sequences(5)
    sequences.begin(ProducerId(1, 0))
    queue = Accumulator(0, 0, 1e9)
    batches = [a_batch(count) for count in counts]
    for batch in reversed(batches):
        queue.put_back(batch)
    broker, luck, steps = Broker(), deque(fates), 0
    # On a connection; when one breaks, everything behind it is lost as well.
    while list(queue.batches()):
        steps += 1
        assert steps < 1000, "it does not end"
        flight: list[Batch] = []
        while list(queue.batches()) and sequences.may_send(queue.first(P)):
            flight.append(queue.pop(P))
            sequences.sent(flight[-1])
        is_broken = False
        for batch in flight:
            fate = luck.popleft() if luck else "answered"
            code = ErrorCode.NETWORK_EXCEPTION
            if fate == "refused" and not is_broken:
                code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            elif fate != "request lost" and not is_broken:
                code = broker.append(batch)
                if fate == "answer lost":
                    code, is_broken = ErrorCode.NETWORK_EXCEPTION, True
            else:
                is_broken = True
            sequences.returned(batch)
            if code == ErrorCode.NONE:
                sequences.acked(batch)
            else:
                if code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                    sequences.out_of_order(batch)
                batch.attempts += 1
                queue.put_back(batch)

    assert [id(batch) for batch in broker.log] == [id(batch) for batch in batches]
    assert broker.epoch in (-1, 0), "nothing failed for good, so nothing cost an epoch"
