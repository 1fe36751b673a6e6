"""What only a cluster of several can be asked: the same questions to three nodes of each kind, the third of which is dead.

A move to a dead broker goes on for ever, so that it can be looked at.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from oracle.comparing import differences
from oracle.three_nodes import ThreeNodes, three_of_kafka, three_of_klamm

pytestmark = pytest.mark.oracle
DEAD = 3
Question = tuple[str, dict[str, Any]]


def create(name: str, *assignment: list[int], factor: int = -1, partitions: int = -1) -> Question:
    topic = {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": factor,
        "assignments": [
            {"partition_index": index, "broker_ids": ids} for index, ids in enumerate(assignment)
        ],
    }
    return "create_topics", {"topics": [topic], "timeout_ms": 5_000}


def add(name: str, count: int, *assignments: list[int]) -> Question:
    rows = [{"broker_ids": each} for each in assignments] or None
    topic = {"name": name, "count": count, "assignments": rows}
    return "create_partitions", {"topics": [topic], "timeout_ms": 5_000, "validate_only": False}


def move(
    name: str, replicas: list[int] | None, index: int = 0, *, may_grow: bool = True
) -> Question:
    partition = {"partition_index": index, "replicas": replicas}
    return "alter_partition_reassignments", {
        "timeout_ms": 5_000,
        "allow_replication_factor_change": may_grow,
        "topics": [{"name": name, "partitions": [partition]}],
    }


def ongoing(*names: str) -> Question:
    topics = [{"name": each, "partition_indexes": [0, 7]} for each in names]
    values = {"timeout_ms": 5_000, "topics": topics or None}
    return "list_partition_reassignments", values


def elect(kind: int, *names: str) -> Question:
    topics = [{"topic": each, "partitions": [0, 7]} for each in names]
    return "elect_leaders", {"election_type": kind, "topic_partitions": topics, "timeout_ms": 5_000}


def unregister(broker_id: int) -> Question:
    return "unregister_broker", {"broker_id": broker_id}


QUESTIONS: list[Question] = [
    create("too-many", factor=4, partitions=1),
    create("no-factor", factor=0, partitions=1),
    create("none-lives", [DEAD]),
    create("unknown", [1, 99]),
    create("twice", [1, 1]),
    create("empty", []),
    create("uneven", [1, 2], [1]),
    create("t", [1, 2]),
    create("with-the-dead", [DEAD, 1]),
    create("all", factor=3, partitions=3),
    add("t", 2, [1]),
    add("t", 2, [1, 99]),
    add("t", 2, [DEAD, 2]),
    add("t", 3, [DEAD]),
    add("all", 4),
    move("nowhere", [1]),
    move("nowhere", None),
    move("t", [1], 9),
    move("t", []),
    move("t", [1, 1]),
    move("t", [1, 99]),
    move("t", [1, -1]),
    move("t", None),
    move("t", [1], may_grow=False),
    move("t", [1, 2, DEAD], may_grow=False),
    move("t", [1, 2]),
    ongoing(),
    move("t", [DEAD, 1]),
    ongoing(),
    ongoing("t", "nowhere"),
    ongoing("all"),
    elect(0, "t", "nowhere", "with-the-dead"),
    elect(1, "t", "with-the-dead"),
    elect(7, "t"),
    move("t", [DEAD, 2]),
    ongoing(),
    move("t", [1, 2, DEAD], may_grow=False),
    move("t", None),
    ongoing(),
    move("t", [2]),
    ongoing(),
    elect(0, "t"),
    unregister(99),
    unregister(-1),
    unregister(DEAD),
    unregister(DEAD),
    create("again", factor=3, partitions=1),
    move("t", [DEAD]),
]


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[ThreeNodes, ThreeNodes]]:
    with ThreadPoolExecutor(2) as pool:
        kafka, klamm = (
            each.result() for each in map(pool.submit, (three_of_kafka, three_of_klamm))
        )
    try:
        yield kafka, klamm
    finally:
        kafka.close()
        klamm.close()


def test_three_nodes_answer_as_kafkas(both: tuple[ThreeNodes, ThreeNodes]) -> None:
    kafka, klamm = both
    for each in both:
        each.kill(DEAD)

    found = [
        f"{number} {api} {values}: {line}"
        for number, (api, values) in enumerate(QUESTIONS)
        for line in differences(kafka.ask(api, values), klamm.ask(api, values))
    ]

    assert not found
