"""The same key goes to the same partition as with Java's producer; records without one spread evenly."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from klamm.client.producer.partitioner import (
    Question,
    RoundRobinPartitioner,
    StickyPartitioner,
    murmur2,
    partition_for_key,
)
from support import kafka_jars

# key, number of partitions, Java's hash, Java's partition
GOLDEN = [
    (b"", 1, 275646681, 0),
    (b"a", 2, 2731586172, 0),
    (b"ab", 3, 316155434, 2),
    (b"abc", 7, 479470107, 4),
    (b"abcd", 12, 2971317748, 8),
    (b"hello", 100, 2132663229, 29),
    (b"kafka", 1000, 3496464228, 580),
    (b"21", 1, 3321034988, 0),
    (b"foobar", 2, 3504634814, 0),
    (b"a-little-bit-long-string", 3, 3308985760, 2),
    (b"\xff\xfe\xfd", 7, 998637092, 5),
    (bytes(range(256)), 12, 2346620022, 10),
    ("schlüssel".encode(), 100, 331429656, 56),
    (b"user-1234567", 1000, 928168879, 879),
    (b"\x00", 1, 375494588, 0),
    (b"\x80" * 7, 2, 2449023699, 1),
]


def question(key: bytes | None = None, *, size: int = 100, available: int = 4) -> Question:
    return Question("topic", key, b"", 4, tuple(range(available)), size)


@pytest.mark.parametrize(("key", "count", "hashed", "partition"), GOLDEN)
def test_key_hashes_as_in_java(key: bytes, count: int, hashed: int, partition: int) -> None:
    assert (murmur2(key), partition_for_key(key, count)) == (hashed, partition)


@pytest.mark.oracle
def test_thousands_of_keys_go_where_java_sends_them() -> None:
    rng = Random(7)
    keys = [(rng.randrange(1, 2000), rng.randbytes(rng.randrange(40))) for _ in range(5000)]

    printed = kafka_jars.run_source(
        Path(__file__).parent / "java" / "KeyPartitions.java",
        stdin="".join(f"{count} {key.hex()}\n" for count, key in keys),
    )

    ours = [f"{murmur2(key)} {partition_for_key(key, count)}" for count, key in keys]
    assert printed.splitlines() == ours


def test_key_decides_even_where_its_partition_has_no_leader() -> None:
    partitioner = StickyPartitioner(Random(1), 1000)

    assert partitioner(question(b"abc", available=1)) == partition_for_key(b"abc", 4)


def test_records_without_a_key_stay_for_a_batch_and_move_on() -> None:
    partitioner = StickyPartitioner(Random(1), 1000)

    chosen = [partitioner(question()) for _ in range(40)]

    stays = [chosen[at : at + 10] for at in range(0, 40, 10)]
    assert all(len(set(stay)) == 1 for stay in stays)
    assert all(one[0] != other[0] for one, other in pairwise(stays))


def test_records_without_a_key_spread_evenly_whatever_their_size() -> None:
    rng = Random(5)
    partitioner = StickyPartitioner(rng, 1000)
    received: Counter[int] = Counter()

    for _ in range(20_000):
        size = rng.randrange(10, 400)
        received[partitioner(question(size=size))] += size

    mean = sum(received.values()) / 4
    assert all(abs(size - mean) < 0.1 * mean for size in received.values())


def test_partition_that_lost_its_leader_is_left() -> None:
    partitioner = StickyPartitioner(Random(1), 1000)
    while partitioner(question()) == 0:
        pass

    assert partitioner(question(available=1)) == 0


def test_round_robin_goes_on_where_each_topic_stopped() -> None:
    partitioner = RoundRobinPartitioner()

    assert [partitioner(question(b"same key")) for _ in range(5)] == [0, 1, 2, 3, 0]
    assert partitioner(question()._replace(topic="other")) == 0
