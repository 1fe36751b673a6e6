"""Which partition a name belongs to, as Kafka decides it."""

import pytest

from klamm.coordinator.placement import partition_of


@pytest.mark.parametrize(
    ("name", "partition"),
    [
        # Where a real broker keeps these groups, of 50 partitions.
        ("", 0),
        ("g", 3),
        ("group", 47),
        ("console-consumer-1", 24),
        ("grüße", 23),
        ("\U0001f40d", 0),
    ],
)
def test_a_group_lives_where_kafka_keeps_it(name: str, partition: int) -> None:
    assert partition_of(name, 50) == partition


def test_the_smallest_hash_has_no_absolute_value() -> None:
    assert partition_of("polygenelubricants", 50) == 0
