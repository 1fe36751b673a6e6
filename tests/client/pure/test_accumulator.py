"""Batches fill, linger, expire and come back, by a clock that the test holds."""

import asyncio

from klamm.base.ids import TopicPartition
from klamm.client.producer.accumulator import Accumulator
from klamm.client.producer.batch import Delivery, record_size
from klamm.protocol.records.reader import Record

P0 = TopicPartition("topic", 0)
P1 = TopicPartition("topic", 1)
SIZE = record_size(None, b"x" * 100, ())


def an_accumulator(*, batch_bytes: int = 61 + 3 * SIZE) -> Accumulator:
    """Batches of three records; 10 s to linger, 100 s to live."""
    return Accumulator(batch_bytes, linger=10, delivery_timeout=100)


def put(accumulator: Accumulator, now: float, partition: TopicPartition = P0) -> bool:
    delivery: Delivery = asyncio.get_running_loop().create_future()
    return accumulator.append(partition, Record(value=b"x" * 100), SIZE, delivery, now)


async def test_batch_waits_until_it_lingered() -> None:
    accumulator = an_accumulator()
    put(accumulator, now=0)

    assert (list(accumulator.due(9.9)), accumulator.next_due(0)) == ([], 10)
    assert list(accumulator.due(10)) == [P0]


async def test_full_batch_is_due_at_once_and_the_next_record_begins_another() -> None:
    accumulator = an_accumulator()

    news = [put(accumulator, now=0) for _ in range(4)]

    assert news == [True, False, True, True]
    assert list(accumulator.due(0)) == [P0]
    assert [accumulator.pop(P0).count, accumulator.pop(P0).count] == [3, 1]


async def test_partitions_do_not_wait_for_each_other() -> None:
    accumulator = an_accumulator()
    put(accumulator, now=0, partition=P0)
    put(accumulator, now=5, partition=P1)

    assert list(accumulator.due(10)) == [P0]
    assert accumulator.next_due(10) == 15


async def test_flush_sends_what_there_is_but_lets_later_records_linger() -> None:
    accumulator = an_accumulator()
    put(accumulator, now=0)
    accumulator.flush(now=1)

    assert list(accumulator.due(1)) == [P0]
    accumulator.pop(P0)
    put(accumulator, now=2)
    assert list(accumulator.due(2)) == []


async def test_record_larger_than_a_batch_gets_its_own() -> None:
    accumulator = an_accumulator(batch_bytes=50)

    put(accumulator, now=0)
    put(accumulator, now=0)

    assert [batch.count for batch in accumulator.batches()] == [1, 1]


async def test_returned_batch_goes_before_new_ones_and_behind_older_ones() -> None:
    accumulator = an_accumulator(batch_bytes=50)
    for _ in range(4):
        put(accumulator, now=0)
    sent = [accumulator.pop(P0) for _ in range(3)]
    for sequence, batch in zip((0x7FFFFFFF, 0, 1), sent, strict=True):
        batch.base_sequence = sequence
        batch.attempts = 1

    for batch in (sent[1], sent[2], sent[0]):
        accumulator.put_back(batch)

    assert [accumulator.pop(P0) for _ in range(3)] == sent
    assert not accumulator.pop(P0).has_sequence


async def test_batch_that_was_sent_before_takes_no_more_records() -> None:
    accumulator = an_accumulator()
    put(accumulator, now=0)
    batch = accumulator.pop(P0)
    batch.attempts, batch.retry_at = 1, 30.0
    accumulator.put_back(batch)

    put(accumulator, now=1)

    assert [known.count for known in accumulator.batches()] == [1, 1]
    assert (list(accumulator.due(29)), list(accumulator.due(30))) == ([], [P0])


async def test_batch_that_was_not_delivered_in_time_is_taken_out() -> None:
    accumulator = an_accumulator()
    put(accumulator, now=0)
    put(accumulator, now=50, partition=P1)

    late = accumulator.expired(now=100)

    assert [batch.partition for batch in late] == [P0]
    assert list(accumulator.due(100)) == [P1]


async def test_halves_of_a_batch_take_its_sequences_and_its_waiters() -> None:
    accumulator = an_accumulator()
    for _ in range(3):
        put(accumulator, now=0)
    batch = accumulator.pop(P0)
    batch.base_sequence = 0x7FFFFFFF

    first, second = batch.split()

    assert [(part.count, part.base_sequence) for part in (first, second)] == [
        (1, 0x7FFFFFFF),
        (2, 0),
    ]
    assert [*first.deliveries, *second.deliveries] == batch.deliveries
