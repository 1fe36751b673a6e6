"""The short ways ask for rights, too, and heed at once that one is given or taken."""

from collections.abc import Callable
from typing import Any

import pytest

from klamm.base.acl import AclOperation, AclResourceType
from klamm.base.errors import ErrorCode
from klamm.protocol.messages.heartbeat import HeartbeatRequest
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest
from klamm.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from klamm.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from klamm.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from server.asking import Topic, a_batch, a_fetch, a_produce, a_produce_of, error, partition_of
from server.authorization.people import allow, take_back
from server.wire_client import WireClient
from support.patience import eventually

READ, WRITE, DESCRIBE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def produced(topic: Topic) -> Any:
    return a_produce(topic, a_batch())


def produced_to_many(topic: Topic) -> Any:
    return a_produce_of((topic, [(0, a_batch()), (0, a_batch())]))


def listed(topic: Topic) -> Any:
    partition = ListOffsetsPartition(partition_index=0, timestamp=-1)
    topics = [ListOffsetsTopic(name=topic.name, partitions=[partition])]
    return ListOffsetsRequest(replica_id=-1, topics=topics)


@pytest.mark.parametrize(
    ("request_of", "operation"),
    [(produced, WRITE), (a_fetch, READ), (listed, DESCRIBE)],
    ids=["produce", "fetch", "list_offsets"],
)
def test_a_right_counts_from_when_it_is_given_until_it_is_taken(
    admin: WireClient,
    ann: WireClient,
    topic: Topic,
    request_of: Callable[[Topic], Any],
    operation: AclOperation,
) -> None:
    assert error(partition_of(ann.ask(request_of(topic))).error_code) is DENIED

    allow(admin, "ann", operation, topic.name)
    for _ in range(3):
        assert error(partition_of(ann.ask(request_of(topic))).error_code) is ErrorCode.NONE
    take_back(admin, "ann", topic.name)

    assert error(partition_of(ann.ask(request_of(topic))).error_code) is DENIED


def test_what_one_connection_may_another_may_not(
    admin: WireClient, ann: WireClient, person: Callable[[str], WireClient], topic: Topic
) -> None:
    allow(admin, "ann", WRITE, topic.name)

    assert error(partition_of(ann.ask(produced(topic))).error_code) is ErrorCode.NONE
    assert error(partition_of(person("bob").ask(produced(topic))).error_code) is DENIED


def test_several_batches_of_a_topic_are_denied_together(ann: WireClient, topic: Topic) -> None:
    (answer,) = ann.ask(produced_to_many(topic)).responses

    assert {error(each.error_code) for each in answer.partition_responses} == {DENIED}


def test_heartbeats_and_commits_end_with_the_right_to_the_group(
    admin: WireClient, ann: WireClient, topic: Topic, new_name: str
) -> None:
    group = {"resource_type": AclResourceType.GROUP}
    allow(admin, "ann", READ, new_name, **group)
    allow(admin, "ann", READ, topic.name)
    member = joined(ann, new_name)
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    asked = OffsetCommitRequestTopic(name=topic.name, topic_id=topic.id, partitions=[partition])
    commit = OffsetCommitRequest(
        group_id=new_name, member_id="", generation_id_or_member_epoch=-1, topics=[asked]
    )
    heartbeat = HeartbeatRequest(group_id=new_name, generation_id=1, member_id=member)
    assert ann.ask(heartbeat).error_code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)

    # Its rule for the topic has the same user but another name.
    take_back(admin, "ann", new_name)

    assert error(ann.ask(heartbeat).error_code) is ErrorCode.GROUP_AUTHORIZATION_FAILED
    (answer,) = ann.ask(commit).topics
    assert error(answer.partitions[0].error_code) is ErrorCode.GROUP_AUTHORIZATION_FAILED


def joined(client: WireClient, group: str) -> str:
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
    member = ""

    def join() -> None:
        nonlocal member
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            member_id=member,
            protocol_type="consumer",
            protocols=protocols,
        )
        answer = client.ask(request)
        member = answer.member_id
        assert answer.error_code == 0, answer

    eventually(join)
    return member


def test_a_transaction_takes_no_batch_of_somebody_without_a_right_to_its_id(
    admin: WireClient,
    ann: WireClient,
    person: Callable[[str], WireClient],
    topic: Topic,
    new_name: str,
) -> None:
    """CVE-2018-17196: that the topic may be written to is not enough."""
    bob = person("bob")
    for user in ("ann", "bob"):
        allow(admin, user, WRITE, topic.name)
    allow(admin, "ann", WRITE, new_name, resource_type=AclResourceType.TRANSACTIONAL_ID)
    init = InitProducerIdRequest(transactional_id=new_name, transaction_timeout_ms=60_000)
    producer: Any = None

    def begin() -> None:
        nonlocal producer
        producer = ann.ask(init)
        assert producer.error_code == 0, producer

    eventually(begin)

    def batch(sequence: int) -> Any:
        data = a_batch(
            transactional=True,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=sequence,
        )
        return a_produce(topic, data, transactional_id=new_name)

    for sequence in range(3):
        assert error(partition_of(ann.ask(batch(sequence))).error_code) is ErrorCode.NONE

    for version in (11, 13):
        answer = partition_of(bob.ask(batch(3), version))
        assert error(answer.error_code) is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
