"""What clients are told of topics whose brokers are not all there: by the listener that they came by."""

from __future__ import annotations

from dataclasses import replace

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.ids import ZERO_UUID, Uuid
from klamm.metadata.delta import Delta, TopicDelta
from klamm.metadata.image import BrokerImage, ClusterImage, Endpoint, PartitionImage, TopicImage
from klamm.protocol.messages.metadata import MetadataResponsePartition
from klamm.server.metadata.metadata_answers import MetadataAnswers, describe_topic

HERE, LOST = Uuid(b"d" * 16), Uuid(bytes(15) + b"\x01")
INSIDE, OUTSIDE = "INSIDE", "OUTSIDE"


def broker(broker_id: int, *listeners: str, is_fenced: bool = False) -> BrokerImage:
    return BrokerImage(
        broker_id,
        epoch=broker_id,
        incarnation_id=ZERO_UUID,
        endpoints=tuple(Endpoint(name, "host", 9000 + broker_id) for name in listeners),
        is_fenced=is_fenced,
        directories=(HERE,),
    )


def image(*brokers: BrokerImage) -> ClusterImage:
    return ClusterImage(brokers={each.broker_id: each for each in brokers})


def topic(leader: int = 1, *, directories: tuple[Uuid, ...] = (HERE,) * 3) -> TopicImage:
    state = PartitionImage((1, 2, 3), (1, 2), leader, 5, 7, directories=directories)
    return TopicImage("topic", ZERO_UUID, (state,))


def described(
    known: ClusterImage, about: TopicImage, listener: str = INSIDE, version: int = 13
) -> MetadataResponsePartition:
    answer = describe_topic(known, about, listener, version=version, with_operations=False)
    return answer.partitions[0]


ALL = image(broker(1, INSIDE), broker(2, INSIDE), broker(3, INSIDE))


def test_a_partition_with_all_its_brokers() -> None:
    assert described(ALL, topic()) == MetadataResponsePartition(
        partition_index=0, leader_id=1, leader_epoch=5, replica_nodes=[1, 2, 3], isr_nodes=[1, 2]
    )


def test_replicas_are_offline_on_brokers_that_are_fenced_or_gone_or_in_a_directory_that_failed() -> (
    None
):
    brokers = image(broker(1, INSIDE), broker(2, INSIDE, is_fenced=True))
    assert described(brokers, topic()).offline_replicas == [2, 3]

    assert described(ALL, topic(directories=(HERE, LOST, ZERO_UUID))).offline_replicas == [2]


def test_without_a_leader_the_client_is_told_to_come_again() -> None:
    found = described(ALL, topic(leader=-1))

    assert (found.error_code, found.leader_id, found.leader_epoch) == (
        ErrorCode.LEADER_NOT_AVAILABLE,
        -1,
        5,
    )


@pytest.mark.parametrize(
    ("version", "error"),
    [(5, ErrorCode.LEADER_NOT_AVAILABLE), (6, ErrorCode.LISTENER_NOT_FOUND)],
)
def test_a_leader_without_the_clients_listener_is_no_leader_for_it(
    version: int, error: ErrorCode
) -> None:
    brokers = image(broker(1, INSIDE), broker(2, INSIDE, OUTSIDE), broker(3, INSIDE, OUTSIDE))
    found = described(brokers, topic(), OUTSIDE, version)

    assert (found.error_code, found.leader_id, found.offline_replicas) == (error, -1, [1])


def test_the_oldest_clients_are_not_told_of_replicas_that_are_away() -> None:
    brokers = image(broker(1, INSIDE), broker(2, INSIDE, is_fenced=True), broker(3, INSIDE))
    found = described(brokers, topic(), version=0)

    assert (found.error_code, found.leader_id) == (ErrorCode.REPLICA_NOT_AVAILABLE, 1)
    assert (found.replica_nodes, found.isr_nodes) == ([1, 3], [1])


def test_an_answer_is_kept_until_its_topic_or_a_broker_changes() -> None:
    answers = MetadataAnswers()
    before, after = topic(leader=1), topic(leader=2)
    other = replace(before, name="other", topic_id=HERE)

    def ask(about: TopicImage) -> bytes:
        return answers.topic(ALL, about, INSIDE, 13, False)

    first, kept = ask(before), ask(other)
    assert ask(after) is first, "nobody has said that it changed"

    answers.follow(Delta(topics={ZERO_UUID: TopicDelta(before, after)}))

    assert ask(after) != first
    assert ask(other) is kept
    answers.follow(Delta(changed_brokers=frozenset({1})))
    assert ask(other) is not kept
