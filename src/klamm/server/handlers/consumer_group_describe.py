"""ConsumerGroupDescribe (69), v0-1: state, members and assignments of consumer groups.

v1  says of each member whether it speaks the classic protocol
"""

from __future__ import annotations

from klamm.base.acl import AclResourceType
from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.shard import Reply
from klamm.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from klamm.server.authorization.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC
from klamm.server.call import Call, Message
from klamm.server.network.pending import Parked

_PROTOCOL = "consumer"


def handle(request: ConsumerGroupDescribeRequest, call: Call) -> Message | Parked:
    if _PROTOCOL not in call.broker.settings.group.group_coordinator_rebalance_protocols:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
    denied = call.denied(DESCRIBE_GROUP, request.group_ids)
    asked = [group_id for group_id in request.group_ids if group_id not in denied]

    def join(replies: list[Reply]) -> ConsumerGroupDescribeResponse:
        groups = [
            _shown(_answer(group_id, reply), call)
            for group_id, reply in zip(asked, replies, strict=True)
        ]
        for group in groups:
            if group.error_code == ErrorCode.NONE and request.include_authorized_operations:
                group.authorized_operations = call.operations(AclResourceType.GROUP, group.group_id)
        groups += [
            DescribedGroup(group_id=group_id, error_code=DESCRIBE_GROUP.error)
            for group_id in request.group_ids
            if group_id in denied
        ]
        return ConsumerGroupDescribeResponse(groups=groups)

    questions = [
        (group_id, lambda shard, token, name=group_id: shard.consumer.describe(name, token=token))
        for group_id in asked
    ]
    return call.broker.groups.ask_each(questions, request, call, join, is_read=True)


def _shown(group: DescribedGroup, call: Call) -> DescribedGroup:
    """A group that has to do with topics of which the client may know nothing is not described."""
    topics = {
        name
        for member in group.members
        for name in (
            *(member.subscribed_topic_names or ()),
            *(each.topic_name for each in member.assignment.topic_partitions),
            *(each.topic_name for each in member.target_assignment.topic_partitions),
        )
    }
    if not call.denied(DESCRIBE_TOPIC, topics):
        return group
    return DescribedGroup(
        group_id=group.group_id,
        error_code=DESCRIBE_TOPIC.error,
        error_message="The group has described topic(s) that the client is not authorized to describe.",
    )


def _answer(group_id: str, reply: Reply) -> DescribedGroup:
    if isinstance(reply, DescribedGroup):
        return reply
    assert isinstance(reply, ApiError)
    if not group_id:
        return DescribedGroup(error_code=ErrorCode.INVALID_GROUP_ID)
    return DescribedGroup(group_id=group_id, error_code=reply.code, error_message=reply.message)


def fail(
    request: ConsumerGroupDescribeRequest, error: ApiError, version: int
) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=[DescribedGroup(group_id=each, error_code=error.code) for each in request.group_ids]
    )
