"""A broker says in which of its directories it keeps which replica."""

import pytest
from tests.controller.conftest import BROKER_EPOCH, DIRECTORY, directory

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestDirectoryData,
    AssignReplicasToDirsRequestPartitionData,
    AssignReplicasToDirsRequestTopicData,
)

TOPIC = Uuid(b"t---------------")
OTHER = directory(1, "b")


def assign(machine, place, *, topic=TOPIC, index=0, broker_id=1, epoch=BROKER_EPOCH):
    partition = AssignReplicasToDirsRequestPartitionData(partition_index=index)
    topics = [AssignReplicasToDirsRequestTopicData(topic_id=topic, partitions=[partition])]
    request = AssignReplicasToDirsRequest(
        broker_id=broker_id,
        broker_epoch=epoch,
        directories=[AssignReplicasToDirsRequestDirectoryData(id=place, topics=topics)],
    )
    reply = machine.at(0, lambda c, now: c.assign_replicas_to_dirs(request, now))
    return reply.directories[0].topics[0].partitions[0].error_code


@pytest.fixture(autouse=True)
def placed(three):
    three.put_broker(1, directories=(DIRECTORY, OTHER))
    three.put_partition("t", replicas=(1, 2), isr=(1, 2), leader=1)


def test_a_replica_is_where_its_broker_says(three):
    assert assign(three, OTHER) == 0

    partition = three.partition("t")
    assert partition.directories == (OTHER, directory(2))
    assert (partition.leader, partition.leader_epoch, partition.isr) == (1, 5, (1, 2))
    assert assign(three, OTHER) == 0
    assert three.records == []


def test_a_replica_in_a_directory_that_failed_leaves_the_isr(three):
    three.put_broker(1, directories=(DIRECTORY,))

    assert assign(three, OTHER) == 0

    assert three.state("t") == (2, (2,), (1,))
    assert three.partition("t").directories == (OTHER, directory(2))


def test_the_eligible_leaders_stay_what_they_are(three):
    three.put_partition("t", replicas=(1, 2), isr=(1,), leader=1, elr=(2,))

    assign(three, OTHER)

    assert three.state("t") == (1, (1,), (2,))


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"topic": Uuid(b"unknown topic id")}, ErrorCode.UNKNOWN_TOPIC_ID),
        ({"index": 1}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"broker_id": 3}, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_what_the_broker_does_not_hold_is_refused(three, facts, code):
    assert assign(three, OTHER, **facts) == code
    assert three.records == []


def test_an_earlier_incarnation_is_not_heard(three):
    with pytest.raises(ApiError) as refused:
        assign(three, OTHER, epoch=BROKER_EPOCH - 1)

    assert refused.value.code == ErrorCode.STALE_BROKER_EPOCH
