"""DeleteTopics, as a real 4.3.1 answered the same requests."""

import pytest

from klamm.base.ids import ZERO_UUID, Uuid
from klamm.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from klamm.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

UNKNOWN = Uuid(b"unknown-topic-id")


@pytest.fixture
def topic_id(machine):
    """The id of a topic "t" with a config of its own."""
    topic = CreatableTopic(
        name="t",
        num_partitions=1,
        replication_factor=1,
        configs=[CreatableTopicConfig(name="retention.ms", value="1")],
    )
    request = CreateTopicsRequest(topics=[topic])
    return machine.do(lambda controller: controller.create_topics(request, 0)).topics[0].topic_id


def delete(machine, *topics, names=()):
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in topics],
        topic_names=list(names),
    )
    responses = machine.do(lambda controller: controller.delete_topics(request, 0)).responses
    return [(each.name, each.topic_id, each.error_code, each.error_message) for each in responses]


def test_a_topic_goes_by_name_with_all_that_belongs_to_it(machine, topic_id):
    assert delete(machine, ("t", ZERO_UUID)) == [("t", topic_id, 0, None)]

    assert machine.image.topics_by_name == machine.image.topics_by_id == {}
    assert machine.image.config(2, "t") == {}


def test_a_topic_goes_by_id(machine, topic_id):
    assert delete(machine, (None, topic_id)) == [("t", topic_id, 0, None)]
    assert machine.image.topics_by_id == {}


def test_old_clients_send_bare_names(machine, topic_id):
    assert delete(machine, names=["t", "nope"]) == [
        ("t", topic_id, 0, None),
        ("nope", ZERO_UUID, 3, "This server does not host this topic-partition."),
    ]


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        ((None, ZERO_UUID), 42, "Neither topic name nor id were specified."),
        (("t", UNKNOWN), 42, "You may not specify both topic name and topic id."),
        (("nope", ZERO_UUID), 3, "This server does not host this topic-partition."),
        (("__cluster_metadata", ZERO_UUID), 3, "This server does not host this topic-partition."),
        ((None, UNKNOWN), 100, "This server does not host this topic ID."),
    ],
)
def test_what_cannot_be_found_is_refused(machine, topic_id, asked, code, message):
    assert delete(machine, asked) == [(*asked, code, message)]
    assert machine.records == []


def test_asking_twice_deletes_nothing(machine, topic_id):
    by_name, by_id = ("t", ZERO_UUID), (None, UNKNOWN)

    assert delete(machine, by_name, by_name, by_id, by_id) == [
        ("t", ZERO_UUID, 42, "Duplicate topic name."),
        (None, UNKNOWN, 42, "Duplicate topic id."),
    ]
    assert "t" in machine.image.topics_by_name


def test_asking_by_name_and_by_id_deletes_nothing(machine, topic_id):
    supplied = "The provided topic name maps to an ID that was already supplied."

    assert delete(machine, ("t", ZERO_UUID), (None, topic_id)) == [("t", topic_id, 42, supplied)]
    assert delete(machine, ("t", ZERO_UUID), (None, topic_id), (None, topic_id)) == [
        ("t", topic_id, 42, supplied),
        (None, topic_id, 42, "Duplicate topic id."),
    ]
    assert "t" in machine.image.topics_by_name


def test_deletion_can_be_switched_off(make_machine):
    machine = make_machine(delete_topic_enable="false")

    assert delete(machine, ("t", ZERO_UUID)) == [("t", ZERO_UUID, 73, None)]
