"""CreatePartitions, as a real 4.3.1 answered the same requests."""

import pytest

from klamm.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest

INCLUDES = "The manual partition assignment includes"


@pytest.fixture(autouse=True)
def topics(machine):
    names = ("one", "two")
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
    machine.do(lambda controller: controller.create_topics(CreateTopicsRequest(topics=topics), 0))


def grow(machine, *asked, validate_only=False):
    request = CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=brokers
                if brokers is None
                else [CreatePartitionsAssignment(broker_ids=each) for each in brokers],
            )
            for name, count, brokers in asked
        ],
        validate_only=validate_only,
    )
    results = machine.do(lambda controller: controller.create_partitions(request, 0)).results
    return [(each.name, each.error_code, each.error_message) for each in results]


@pytest.mark.parametrize("brokers", [None, [[1], [1]]])
def test_a_topic_grows(machine, brokers):
    assert grow(machine, ("one", 3, brokers)) == [("one", 0, None)]

    partitions = machine.image.topics_by_name["one"].partitions
    assert len(partitions) == 3
    assert partitions[2] == partitions[0]


def test_validating_only_changes_nothing(machine):
    assert grow(machine, ("one", 3, None), validate_only=True) == [("one", 0, None)]
    assert len(machine.image.topics_by_name["one"].partitions) == 1


@pytest.mark.parametrize(
    ("count", "brokers", "code", "message"),
    [
        (1, None, 37, "Topic already has 1 partition(s)."),
        (0, None, 37, "The topic one currently has 1 partition(s); 0 would not be an increase."),
        (-1, None, 37, "The topic one currently has 1 partition(s); -1 would not be an increase."),
        (
            3,
            [[1]],
            39,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        (
            2,
            [],
            39,
            "Attempted to add 1 additional partition(s), but only 0 assignment(s) were specified.",
        ),
        (2, [[2]], 39, f"{INCLUDES} broker 2, but no such broker is registered."),
        (2, [[]], 39, f"{INCLUDES} an empty replica list."),
        (2, [[1, 1]], 39, f"{INCLUDES} the broker 1 more than once."),
    ],
)
def test_bad_requests_are_refused(machine, count, brokers, code, message):
    assert grow(machine, ("one", count, brokers)) == [("one", code, message)]
    assert machine.records == []


def test_an_unknown_topic_is_refused_without_a_sentence(machine):
    assert grow(machine, ("nope", 3, None)) == [("nope", 3, None)]


def test_a_name_given_twice_is_refused_and_the_others_grow(machine):
    assert grow(machine, ("one", 2, None), ("one", 3, None), ("two", 2, None)) == [
        ("two", 0, None),
        ("one", 42, "Duplicate topic name."),
    ]
    assert len(machine.image.topics_by_name["one"].partitions) == 1


def test_too_many_partitions_at_once_are_refused(machine):
    ((name, code, _),) = grow(machine, ("one", 20_000, None))

    assert (name, code) == ("one", 44)
