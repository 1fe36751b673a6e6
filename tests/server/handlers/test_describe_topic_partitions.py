"""DescribeTopicPartitions: topics in the order of their names, page by page. Expectations hold for Apache Kafka 4.3.1."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.ids import ZERO_UUID
from klamm.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponsePartition,
    TopicRequest,
)
from server.asking import Topic
from server.conftest import create_topic, delete_topic
from server.wire_client import WireClient

TOPIC_OPERATIONS = 0b1101_1111_1000

# The topic's last letter, and the partitions told of it.
Told = list[tuple[str, list[int]]]


@pytest.fixture(scope="module")
def topics(address: str) -> Any:
    """a, b and c, with three, two and one partitions."""
    with WireClient(address) as client:
        made = [
            create_topic(client, f"st-pages-{name}", n)
            for name, n in zip("abc", (3, 2, 1), strict=True)
        ]
        yield made
        for topic in made:
            delete_topic(client, topic)


def ask(
    client: WireClient, names: list[str], *, limit: int = 2000, after: tuple[str, int] | None = None
) -> Any:
    cursor = after and Cursor(topic_name=after[0], partition_index=after[1])
    return client.ask(
        DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in names],
            response_partition_limit=limit,
            cursor=cursor,
        )
    )


def told(answer: Any) -> tuple[Told, tuple[str, int] | None]:
    cursor = answer.next_cursor
    return (
        [(t.name[-1], [p.partition_index for p in t.partitions]) for t in answer.topics],
        cursor and (cursor.topic_name[-1], cursor.partition_index),
    )


def names_of(topics: list[Topic]) -> list[str]:
    return [topic.name for topic in topics]


def test_topics_come_in_the_order_of_their_names(client: WireClient, topics: list[Topic]) -> None:
    answer = ask(client, names_of(topics)[::-1])

    assert told(answer) == ([("a", [0, 1, 2]), ("b", [0, 1]), ("c", [0])], None)


def test_a_topic_is_told_with_all_that_is_known_of_it(
    client: WireClient, topics: list[Topic]
) -> None:
    (topic,) = ask(client, [topics[2].name]).topics

    assert (topic.error_code, topic.name, topic.topic_id) == (0, *topics[2])
    assert not topic.is_internal
    assert topic.topic_authorized_operations == TOPIC_OPERATIONS
    assert topic.partitions == [
        DescribeTopicPartitionsResponsePartition(
            partition_index=0,
            leader_id=1,
            leader_epoch=0,
            replica_nodes=[1],
            isr_nodes=[1],
            eligible_leader_replicas=[],
            last_known_elr=[],
            offline_replicas=[],
        )
    ]


@pytest.mark.parametrize(
    ("limit", "page", "following"),
    [
        (-1, [("a", [0])], ("a", 1)),
        (0, [("a", [0])], ("a", 1)),
        (2, [("a", [0, 1])], ("a", 2)),
        (3, [("a", [0, 1, 2])], ("b", 0)),
        (4, [("a", [0, 1, 2]), ("b", [0])], ("b", 1)),
        (5, [("a", [0, 1, 2]), ("b", [0, 1])], ("c", 0)),
        (6, [("a", [0, 1, 2]), ("b", [0, 1]), ("c", [0])], None),
    ],
)
def test_a_page_ends_at_the_limit_and_says_where_to_go_on(
    client: WireClient,
    topics: list[Topic],
    limit: int,
    page: Told,
    following: tuple[str, int] | None,
) -> None:
    assert told(ask(client, names_of(topics), limit=limit)) == (page, following)


@pytest.mark.parametrize(
    ("after", "page", "following"),
    [
        (("a", 1), [("a", [1, 2])], ("b", 0)),
        (("b", 1), [("b", [1]), ("c", [0])], None),
        # The topic has shrunk to nothing behind the cursor: it is named all the same.
        (("a", 9), [("a", []), ("b", [0, 1])], ("c", 0)),
    ],
)
def test_the_next_page_begins_at_the_cursor(
    client: WireClient,
    topics: list[Topic],
    after: tuple[str, int],
    page: Told,
    following: tuple[str, int] | None,
) -> None:
    cursor = (f"st-pages-{after[0]}", after[1])

    assert told(ask(client, names_of(topics), limit=2, after=cursor)) == (page, following)


def test_all_topics_can_be_read_page_by_page(client: WireClient, topics: list[Topic]) -> None:
    seen: list[tuple[str, int]] = []
    cursor: tuple[str, int] | None = ("st-pages", 0)
    while cursor is not None and cursor[0] < "st-pages-d":
        answer = ask(client, [], limit=2, after=cursor)
        seen += [(t.name, p.partition_index) for t in answer.topics for p in t.partitions]
        following = answer.next_cursor
        cursor = following and (following.topic_name, following.partition_index)

    a, b, c = names_of(topics)
    assert [each for each in seen if each[0] in (a, b, c)] == [
        (a, 0),
        (a, 1),
        (a, 2),
        (b, 0),
        (b, 1),
        (c, 0),
    ]


def test_what_does_not_exist_is_told_in_its_place(client: WireClient, topics: list[Topic]) -> None:
    answer = ask(client, [topics[0].name, "st-pages-aa", "a b"])

    assert [(t.name, t.error_code, t.topic_id == ZERO_UUID) for t in answer.topics] == [
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION, True),
        (topics[0].name, 0, False),
        ("st-pages-aa", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True),
    ]


@pytest.mark.parametrize("after", [("st-pages-a", -1), ("st-pages-b", 0), ("zzz", 0)])
def test_a_cursor_that_points_nowhere_is_refused(
    client: WireClient, topics: list[Topic], after: tuple[str, int]
) -> None:
    answer = ask(client, [topics[0].name], after=after)

    assert [t.error_code for t in answer.topics] == [ErrorCode.INVALID_REQUEST]
