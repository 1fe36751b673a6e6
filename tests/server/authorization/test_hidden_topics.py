"""Topics of which a user may know nothing are not found by a pattern, and not made by asking for them."""

from typing import Any

from klamm.base.acl import AclOperation, AclResourceType
from klamm.base.errors import ErrorCode
from klamm.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from server.asking import error
from server.authorization.people import allow
from server.wire_client import WireClient
from support.patience import eventually


def test_a_pattern_finds_only_what_the_member_may_know_of(
    admin: WireClient, ann: WireClient, new_name: str
) -> None:
    names = [f"{new_name}-seen", f"{new_name}-hidden"]
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
    made = admin.ask(CreateTopicsRequest(topics=topics, timeout_ms=10_000)).topics
    ids = {topic.name: topic.topic_id for topic in made}
    allow(admin, "ann", AclOperation.READ, new_name, resource_type=AclResourceType.GROUP)
    allow(admin, "ann", AclOperation.READ, names[0])
    epoch = 0
    assigned: set[Any] = set()

    def beat() -> None:
        nonlocal epoch, assigned
        answer = ann.ask(
            ConsumerGroupHeartbeatRequest(
                group_id=new_name,
                member_id="ann-1",
                member_epoch=epoch,
                rebalance_timeout_ms=10_000,
                subscribed_topic_regex=f"{new_name}-.*",
                topic_partitions=[],
            )
        )
        assert answer.error_code == 0, answer
        epoch = answer.member_epoch
        if answer.assignment is not None:
            assigned |= {each.topic_id for each in answer.assignment.topic_partitions}
        assert assigned

    eventually(beat)

    assert assigned == {ids[names[0]]}


def test_a_topic_is_not_made_for_who_may_not_create_it(
    admin: WireClient, ann: WireClient, new_name: str
) -> None:
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=new_name)], allow_auto_topic_creation=True
    )

    (topic,) = ann.ask(request).topics

    assert error(topic.error_code) is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    look = MetadataRequest(
        topics=[MetadataRequestTopic(name=new_name)], allow_auto_topic_creation=False
    )
    (topic,) = admin.ask(look).topics
    assert error(topic.error_code) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
