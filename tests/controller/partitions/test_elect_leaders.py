"""ElectLeaders, as a real 4.3.1 answered the same requests."""

from dataclasses import replace

import pytest

from klamm.base.errors import ApiError, ErrorCode
from klamm.metadata.image import PartitionImage
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions

PREFERRED = 0
UNCLEAN = 1
NOT_NEEDED = (ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.ELECTION_NOT_NEEDED.text)


@pytest.fixture(autouse=True)
def topics(machine):
    """`one` and `two` have three partitions each, all led by broker 1, which is the only one."""
    wanted = [
        CreatableTopic(name=name, num_partitions=3, replication_factor=1) for name in ("one", "two")
    ]
    machine.do(lambda controller: controller.create_topics(CreateTopicsRequest(topics=wanted), 0))


def set_partition(machine, name, index, **state):
    """A state that takes several brokers to get into."""
    topic = machine.image.topics_by_name[name]
    partitions = list(topic.partitions)
    partitions[index] = PartitionImage(leader_epoch=4, partition_epoch=4, **state)
    changed = replace(topic, partitions=tuple(partitions))
    machine.controller.image = replace(
        machine.image,
        topics_by_name={**machine.image.topics_by_name, name: changed},
        topics_by_id={**machine.image.topics_by_id, topic.topic_id: changed},
    )


def ask(machine, kind, asked):
    named = asked and [TopicPartitions(topic=name, partitions=each) for name, each in asked]
    request = ElectLeadersRequest(election_type=kind, topic_partitions=named)
    reply = machine.do(lambda controller: controller.elect_leaders(request, 0))
    assert reply.error_code == 0
    return [
        (
            topic.topic,
            [
                (each.partition_id, each.error_code, each.error_message)
                for each in topic.partition_result
            ],
        )
        for topic in reply.replica_election_results
    ]


@pytest.mark.parametrize("kind", [PREFERRED, UNCLEAN])
def test_a_partition_that_is_led_as_it_should_be_needs_no_election(machine, kind):
    assert ask(machine, kind, [("one", [2, 0])]) == [
        ("one", [(2, *NOT_NEEDED), (0, *NOT_NEEDED)]),
    ]
    assert machine.records == []


def test_each_partition_is_told_what_is_wrong_with_it(machine):
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    assert ask(machine, PREFERRED, [("one", [7, -1, 0, 0]), ("nobody", [0]), ("two", [])]) == [
        (
            "one",
            [
                (7, unknown, "No such partition as one-7"),
                (-1, unknown, "No such partition as one--1"),
                (0, *NOT_NEEDED),
                (0, *NOT_NEEDED),
            ],
        ),
        ("nobody", [(0, unknown, "No such topic as nobody")]),
        ("two", []),
    ]


def test_the_preferred_replica_is_elected_in_a_new_epoch(machine):
    set_partition(machine, "one", 1, replicas=(1, 2), isr=(2, 1), leader=2)

    assert ask(machine, PREFERRED, [("one", [1])]) == [("one", [(1, 0, None)])]

    after = machine.image.topics_by_name["one"].partitions[1]
    assert (after.leader, after.leader_epoch, after.partition_epoch) == (1, 5, 5)


def test_a_preferred_replica_that_is_gone_is_not_available(machine):
    set_partition(machine, "one", 1, replicas=(2, 1), isr=(1,), leader=1)

    ((_, [(_, code, _)]),) = ask(machine, PREFERRED, [("one", [1])])

    assert code == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    assert machine.records == []


def test_only_an_unclean_election_takes_a_replica_that_is_behind(machine):
    set_partition(machine, "one", 1, replicas=(1, 2), isr=(2,), leader=-1)

    ((_, [(_, code, _)]),) = ask(machine, PREFERRED, [("one", [1])])
    assert code == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    assert ask(machine, UNCLEAN, [("one", [1])]) == [("one", [(1, 0, None)])]

    after = machine.image.topics_by_name["one"].partitions[1]
    assert (after.leader, after.isr, after.leader_recovery_state) == (1, (1,), 1)


def test_without_a_living_replica_nobody_is_eligible(machine):
    set_partition(machine, "one", 1, replicas=(2, 3), isr=(2,), leader=-1)

    ((_, [(_, code, _)]),) = ask(machine, UNCLEAN, [("one", [1])])

    assert code == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


def test_asked_for_all_only_what_is_to_be_done_is_spoken_of(machine):
    set_partition(machine, "one", 1, replicas=(1, 2), isr=(1, 2), leader=2)
    set_partition(machine, "one", 2, replicas=(2, 1), isr=(1,), leader=1)

    found = dict(ask(machine, PREFERRED, None))

    not_available = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    assert found == {
        "one": [(1, 0, None), (2, not_available, not_available.text)],
        "two": [],
    }
    assert len(machine.records) == 1


@pytest.mark.parametrize("asked", [None, [("one", [0])], [("one", [])]])
def test_an_unknown_kind_of_election_is_refused(machine, asked):
    with pytest.raises(ApiError, match="Unknown election type 7") as refused:
        ask(machine, 7, asked)
    assert refused.value.code == ErrorCode.INVALID_REQUEST


def test_nothing_asked_is_nothing_refused(machine):
    assert ask(machine, 7, []) == []
