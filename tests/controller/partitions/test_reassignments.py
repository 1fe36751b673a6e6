"""Replicas move to other brokers: AlterPartitionReassignments and ListPartitionReassignments.

Codes and sentences are those that three nodes of a real 4.3.1 gave.
"""

import pytest
from tests.controller.conftest import DIRECTORY, Machine, directory

from klamm.base.errors import ErrorCode
from klamm.base.ids import ZERO_UUID
from klamm.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from klamm.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)


@pytest.fixture
def five():
    machine = Machine(brokers=5)
    machine.put_partition("t", replicas=(1, 2, 3), isr=(1, 2, 3), leader=1)
    return machine


def move(machine, replicas, *, topic="t", index=0, may_change_factor=True):
    """The error code and sentence."""
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=may_change_factor,
        topics=[
            ReassignableTopic(
                name=topic,
                partitions=[ReassignablePartition(partition_index=index, replicas=replicas)],
            )
        ],
    )
    reply = machine.at(0, lambda c, now: c.alter_partition_reassignments(request, now))
    assert reply.error_code == 0
    ((answer,),) = [each.partitions for each in reply.responses]
    return answer.error_code, answer.error_message


def ongoing(machine, topics=None):
    request = ListPartitionReassignmentsRequest(topics=topics)
    reply = machine.at(0, lambda c, now: c.list_partition_reassignments(request, now))
    assert machine.records == []
    return {
        (topic.name, each.partition_index): (
            each.replicas,
            each.adding_replicas,
            each.removing_replicas,
        )
        for topic in reply.topics
        for each in topic.partitions
    }


def test_replicas_that_come_and_go_are_held_side_by_side(five):
    assert move(five, [4, 2, 5]) == (0, None)

    partition = five.partition("t")
    assert partition.replicas == (4, 2, 5, 1, 3)
    assert (partition.adding, partition.removing) == ((4, 5), (1, 3))
    assert (partition.leader, partition.isr, partition.leader_epoch) == (1, (1, 2, 3), 5)
    assert partition.directories == (
        directory(4),
        directory(2),
        directory(5),
        DIRECTORY,
        directory(3),
    )
    assert ongoing(five) == {("t", 0): ([4, 2, 5, 1, 3], [4, 5], [1, 3])}


def test_a_broker_with_several_directories_says_itself_where_a_replica_goes(five):
    five.put_broker(4, directories=(directory(4), directory(4, "b")))

    move(five, [1, 2, 4])

    assert five.partition("t").directories[2] == ZERO_UUID


def test_another_order_needs_no_move(five):
    assert move(five, [3, 1, 2]) == (0, None)

    partition = five.partition("t")
    assert (partition.replicas, partition.leader, partition.leader_epoch) == ((3, 1, 2), 1, 5)
    assert partition.directories == (directory(3), DIRECTORY, directory(2))
    assert ongoing(five) == {}


def test_the_same_replicas_again_change_nothing(five):
    assert move(five, [1, 2, 3]) == (0, None)
    assert five.records == []


def test_replicas_that_are_only_taken_away_leave_at_once_in_a_new_epoch(five):
    assert move(five, [1, 2]) == (0, None)

    partition = five.partition("t")
    assert (partition.replicas, partition.isr, partition.removing) == ((1, 2), (1, 2), ())
    assert (partition.leader, partition.leader_epoch) == (1, 6)


def test_a_leader_that_is_taken_away_is_followed_by_one_who_stays(five):
    move(five, [2, 3])

    partition = five.partition("t")
    assert (partition.leader, partition.leader_epoch, partition.isr) == (2, 6, (2, 3))


def test_who_is_taken_away_is_not_eligible_any_more(five):
    five.put_config("t", min_insync_replicas="3")

    move(five, [2, 3])

    assert five.state("t") == (2, (2, 3), ())


def test_a_move_that_is_taken_back_leaves_what_was(five):
    move(five, [4, 2, 5])

    assert move(five, None) == (0, None)

    partition = five.partition("t")
    assert sorted(partition.replicas) == [1, 2, 3]
    assert (partition.adding, partition.removing, partition.isr) == ((), (), (1, 2, 3))
    # Those who were coming must not be heard any more.
    assert partition.leader_epoch == 6


def test_what_does_not_move_cannot_be_taken_back(five):
    assert move(five, None) == (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None)


def test_a_move_is_not_taken_back_where_that_would_lose_records(five):
    state = {"replicas": (4, 1), "isr": (4,), "leader": 4, "adding": (4,), "removing": (1,)}
    five.put_partition("t", **state)

    code, text = move(five, None)
    assert code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "would require an unclean leader election" in text

    five.put_config("t", unclean_leader_election_enable="true")
    assert move(five, None) == (0, None)
    assert five.state("t")[:2] == (1, (1,))


def test_a_move_may_be_changed_on_the_way(five):
    move(five, [4, 2, 3])

    move(five, [4, 5, 3])

    partition = five.partition("t")
    assert partition.replicas == (4, 5, 3, 1, 2)
    assert (partition.adding, partition.removing) == ((4, 5), (1, 2))


def test_a_move_back_to_where_it_came_from_ends_at_once(five):
    move(five, [4, 2, 3])

    move(five, [1, 2, 3])

    partition = five.partition("t")
    assert (partition.replicas, partition.adding, partition.removing) == ((1, 2, 3), (), ())
    assert partition.leader_epoch == 6


_WHAT = "The manual partition assignment includes"


@pytest.mark.parametrize(
    ("replicas", "facts", "code", "why"),
    [
        ([1], {"topic": "other"}, 3, "Unable to find a topic named other."),
        (None, {"topic": "other"}, 3, "Unable to find a topic named other."),
        ([1], {"index": 1}, 3, "Unable to find partition t:1."),
        ([], {}, 39, f"{_WHAT} an empty replica list."),
        ([1, 9], {}, 39, f"{_WHAT} broker 9, but no such broker is registered."),
        ([1, -1], {}, 39, f"{_WHAT} broker -1, but no such broker is registered."),
        ([1, 1], {}, 39, f"{_WHAT} the broker 1 more than once."),
        (
            [1, 2],
            {"may_change_factor": False},
            38,
            "The replication factor is changed from 3 to 2",
        ),
        (
            [1, 2, 3, 4],
            {"may_change_factor": False},
            38,
            "The replication factor is changed from 3 to 4",
        ),
    ],
)
def test_what_cannot_be_is_refused(five, replicas, facts, code, why):
    assert move(five, replicas, **facts) == (code, why)
    assert five.records == []


def test_the_factor_of_a_move_on_its_way_is_that_of_its_goal(five):
    move(five, [4, 5])

    assert move(five, [2, 3], may_change_factor=False) == (0, None)


def test_only_the_moves_that_were_asked_for_are_told(five):
    five.put_partition("other", replicas=(1, 2), isr=(1, 2), leader=1, adding=(2,))
    move(five, [4, 2, 3])

    def asked(name, *indexes):
        return [ListPartitionReassignmentsTopics(name=name, partition_indexes=list(indexes))]

    assert list(ongoing(five)) == [("t", 0), ("other", 0)]
    assert list(ongoing(five, asked("other", 0, 1))) == [("other", 0)]
    assert ongoing(five, asked("t")) == ongoing(five, asked("unknown", 0)) == {}
