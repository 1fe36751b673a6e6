"""librdkafka's consumers with group.protocol=consumer (KIP-848): the broker shares the partitions out."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from compat.conftest import MakeTopic
from support.patience import eventually

pytestmark = pytest.mark.compat


@pytest.fixture
def group() -> str:
    return f"group-{uuid4().hex[:12]}"


@contextmanager
def consumer(bootstrap: str, group: str, topics: list[str], **config: str) -> Iterator[Consumer]:
    settings = {"bootstrap.servers": bootstrap, "group.id": group, "group.protocol": "consumer"}
    given = {key.replace("_", "."): value for key, value in config.items()}
    member = Consumer({**settings, "auto.offset.reset": "earliest", **given})
    member.subscribe(topics)
    try:
        yield member
    finally:
        member.close()


def owned(member: Consumer) -> set[tuple[str, int]]:
    member.poll(0.05)
    return {(each.topic, each.partition) for each in member.assignment()}


def shares(*members: Consumer) -> list[set[tuple[str, int]]]:
    """What each has, when nobody has what another has."""
    parts = [owned(member) for member in members]
    assert sum(map(len, parts)) == len(set().union(*parts))
    return parts


def test_partitions_are_shared_out_and_taken_back(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(6)
    with consumer(bootstrap, group, [topic]) as first:
        eventually(lambda: _sizes([6], first))
        with consumer(bootstrap, group, [topic]) as second:
            eventually(lambda: _sizes([3, 3], first, second))
            with consumer(bootstrap, group, [topic]) as third:
                eventually(lambda: _sizes([2, 2, 2], first, second, third))
        eventually(lambda: _sizes([6], first))


def _sizes(expected: list[int], *members: Consumer) -> None:
    assert [len(part) for part in shares(*members)] == expected


def test_records_are_read_once_by_the_group_and_commits_are_kept(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(4)
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(200):
        producer.produce(topic, str(number), partition=number % 4)
    producer.flush(20)

    seen: list[int] = []
    with ExitStack() as members:
        enter = members.enter_context
        both = [enter(consumer(bootstrap, group, [topic])) for _ in range(2)]

        def read_all() -> None:
            for member in both:
                record = member.poll(0.05)
                while record is not None and not record.error():
                    seen.append(int(record.value() or b""))
                    record = member.poll(0.05)
            assert len(seen) >= 200

        eventually(read_all)
    assert sorted(seen) == list(range(200))

    with consumer(bootstrap, group, [topic]) as later:
        eventually(lambda: _sizes([4], later))
        places = [TopicPartition(topic, n) for n in range(4)]
        assert [each.offset for each in later.committed(places, timeout=10)] == [50] * 4


def test_admin_describes_the_group(
    bootstrap: str, make_topic: MakeTopic, group: str, admin: AdminClient
) -> None:
    topic = make_topic(2)
    with consumer(bootstrap, group, [topic], client_id="ann") as member:
        eventually(lambda: _sizes([2], member))

        described = admin.describe_consumer_groups([group], request_timeout=10)[group].result()

        assert described.state is ConsumerGroupState.STABLE
        (only,) = described.members
        assert only.client_id == "ann"
        assert {p.partition for p in only.assignment.topic_partitions} == {0, 1}


def test_a_static_member_comes_back_to_its_partitions(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(4)
    with consumer(bootstrap, group, [topic], group_instance_id="i1") as stays:
        with consumer(bootstrap, group, [topic], group_instance_id="i2") as goes:
            eventually(lambda: _sizes([2, 2], stays, goes))
            had = owned(goes)
        # It is away, and nobody gets what it has.
        assert len(owned(stays)) == 2
        with consumer(bootstrap, group, [topic], group_instance_id="i2") as again:
            eventually(lambda: _sizes([2, 2], stays, again))
            assert owned(again) == had


def test_range_gives_runs(bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(4)
    settings = {"group_remote_assignor": "range"}
    with (
        consumer(bootstrap, group, [topic], **settings) as first,
        consumer(bootstrap, group, [topic], **settings) as second,
    ):
        eventually(lambda: _sizes([2, 2], first, second))
        runs = [sorted(number for _, number in part) for part in shares(first, second)]
        assert sorted(runs) == [[0, 1], [2, 3]]


def test_topics_are_found_by_a_pattern(bootstrap: str, make_topic: MakeTopic, group: str) -> None:
    topic = make_topic(2)
    with consumer(bootstrap, group, [f"^{topic}.*"]) as member:
        eventually(lambda: _sizes([2], member))


def test_new_partitions_are_found(
    bootstrap: str, make_topic: MakeTopic, group: str, admin: AdminClient
) -> None:
    from confluent_kafka.admin import NewPartitions

    topic = make_topic(1)
    with consumer(bootstrap, group, [topic]) as member:
        eventually(lambda: _sizes([1], member))

        admin.create_partitions([NewPartitions(topic, 3)])[topic].result(20)

        eventually(lambda: _sizes([3], member))


def test_a_classic_group_migrates_and_goes_back(
    bootstrap: str, make_topic: MakeTopic, group: str
) -> None:
    topic = make_topic(4)
    classic = {"group_protocol": "classic", "heartbeat_interval_ms": "200"}
    with consumer(bootstrap, group, [topic], **classic) as old:
        eventually(lambda: _sizes([4], old))
        with consumer(bootstrap, group, [topic]) as new:
            eventually(lambda: _sizes([2, 2], old, new))
        eventually(lambda: _sizes([4], old))
        with consumer(bootstrap, group, [topic]) as new:
            eventually(lambda: _sizes([2, 2], old, new))
