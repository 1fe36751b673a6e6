"""AlterPartition: a leader says who is in sync; the controller holds it against what it knows."""

import pytest
from tests.controller.conftest import BROKER_EPOCH

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    BrokerState,
)

TOPIC = Uuid(b"t---------------")


def alter(machine, isr, *, sender=1, sender_epoch=BROKER_EPOCH, topic=TOPIC, index=0, **state):
    members = [each if isinstance(each, tuple) else (each, BROKER_EPOCH) for each in isr]
    wanted = AlterPartitionRequestPartitionData(
        partition_index=index,
        new_isr_with_epochs=[BrokerState(broker_id=id, broker_epoch=at) for id, at in members],
        **{"leader_epoch": 5, "partition_epoch": 9, **state},
    )
    request = AlterPartitionRequest(
        broker_id=sender,
        broker_epoch=sender_epoch,
        topics=[AlterPartitionRequestTopicData(topic_id=topic, partitions=[wanted])],
    )
    reply = machine.at(0, lambda controller, now: controller.alter_partition(request, now))
    ((answer,),) = [each.partitions for each in reply.topics]
    return answer


@pytest.fixture
def led_by_1(three):
    three.put_partition("t", replicas=(1, 2, 3), isr=(1, 2, 3), leader=1)
    return three


def test_the_isr_shrinks_and_grows_without_a_new_leader_epoch(led_by_1):
    answer = alter(led_by_1, [1, 2])
    assert (answer.error_code, answer.isr, answer.leader_id) == (0, [1, 2], 1)
    assert (answer.leader_epoch, answer.partition_epoch) == (5, 10)
    assert led_by_1.state("t") == (1, (1, 2), ())

    answer = alter(led_by_1, [1, 2, 3], partition_epoch=10)
    assert (answer.isr, answer.leader_epoch, answer.partition_epoch) == ([1, 2, 3], 5, 11)


def test_below_the_minimum_those_who_are_left_out_stay_eligible(led_by_1):
    alter(led_by_1, [1])
    assert led_by_1.state("t") == (1, (1,), (2, 3))

    alter(led_by_1, [1, 3], partition_epoch=10)
    assert led_by_1.state("t") == (1, (1, 3), ())


def test_the_same_again_is_answered_and_writes_nothing(led_by_1):
    answer = alter(led_by_1, [1, 2, 3])

    assert (answer.error_code, answer.partition_epoch) == (0, 9)
    assert led_by_1.records == []


def test_a_leader_of_an_earlier_life_is_not_heard(led_by_1):
    with pytest.raises(ApiError) as refused:
        alter(led_by_1, [1, 2], sender_epoch=BROKER_EPOCH - 1)

    assert refused.value.code == ErrorCode.STALE_BROKER_EPOCH


@pytest.mark.parametrize(
    ("isr", "facts", "code"),
    [
        ([1], {"topic": Uuid(b"unknown topic id")}, ErrorCode.UNKNOWN_TOPIC_ID),
        ([1], {"index": 1}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([1], {"leader_epoch": 6}, ErrorCode.NOT_CONTROLLER),
        ([1], {"partition_epoch": 10}, ErrorCode.NOT_CONTROLLER),
        ([1], {"leader_epoch": 4}, ErrorCode.FENCED_LEADER_EPOCH),
        ([2], {"sender": 2}, ErrorCode.INVALID_REQUEST),
        ([1], {"partition_epoch": 8}, ErrorCode.INVALID_UPDATE_VERSION),
        ([1, 4], {}, ErrorCode.INVALID_REQUEST),
        ([1, 1], {}, ErrorCode.INVALID_REQUEST),
        ([2, 3], {}, ErrorCode.INVALID_REQUEST),
        ([], {}, ErrorCode.INVALID_REQUEST),
        ([1], {"leader_recovery_state": 1}, ErrorCode.INVALID_REQUEST),
        ([1], {"leader_recovery_state": 7}, ErrorCode.INVALID_REQUEST),
        ([1, (2, BROKER_EPOCH - 1)], {}, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_what_does_not_fit_is_refused(led_by_1, isr, facts, code):
    assert alter(led_by_1, isr, **facts).error_code == code
    assert led_by_1.records == []


@pytest.mark.parametrize("state", [{"is_fenced": True}, {"in_controlled_shutdown": True}])
def test_nobody_who_does_not_serve_gets_into_the_isr(led_by_1, state):
    led_by_1.put_broker(2, **state)

    assert alter(led_by_1, [1, 2]).error_code == ErrorCode.INELIGIBLE_REPLICA
    assert alter(led_by_1, [1, (2, -1)]).error_code == ErrorCode.INELIGIBLE_REPLICA


def test_a_leader_that_recovers_is_alone_until_it_has(three):
    three.put_partition("t", replicas=(1, 2), isr=(1,), leader=1, leader_recovery_state=1)

    assert alter(three, [1, 2], leader_recovery_state=1).error_code == ErrorCode.INVALID_REQUEST
    answer = alter(three, [1], leader_recovery_state=0)

    assert (answer.error_code, answer.leader_recovery_state) == (0, 0)
    assert three.partition("t").leader_recovery_state == 0
    assert three.partition("t").leader_epoch == 5


def test_a_reassignment_ends_when_all_who_stay_are_in_sync(three):
    three.put_partition("t", replicas=(1, 3, 2), isr=(1, 2), leader=1, adding=(3,), removing=(2,))

    answer = alter(three, [1, 2, 3])

    partition = three.partition("t")
    assert (partition.replicas, partition.isr) == ((1, 3), (1, 3))
    assert (partition.adding, partition.removing) == ((), ())
    assert len(partition.directories) == 2
    # The replica that is gone must not be heard any more: a new epoch.
    assert (answer.leader_id, answer.leader_epoch, partition.leader_epoch) == (1, 6, 6)


def test_a_leader_that_is_moved_away_hears_that_another_one_leads(three):
    three.put_partition("t", replicas=(2, 3, 1), isr=(1, 2), leader=1, adding=(3,), removing=(1,))

    answer = alter(three, [1, 2, 3])

    assert answer.error_code == ErrorCode.NEW_LEADER_ELECTED
    assert three.state("t") == (2, (2, 3), ())
