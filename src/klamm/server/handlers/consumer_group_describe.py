"""ConsumerGroupDescribe (69), v0-1: state, members and assignments of consumer groups.

v1  says of each member whether it speaks the classic protocol
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.coordinator.shard import Reply
from klamm.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from klamm.server.authorized import GROUP_OPERATIONS, NOT_ASKED
from klamm.server.call import Call, Message
from klamm.server.network.pending import Parked

_PROTOCOL = "consumer"


def handle(request: ConsumerGroupDescribeRequest, call: Call) -> Message | Parked:
    if _PROTOCOL not in call.broker.settings.group.group_coordinator_rebalance_protocols:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
    operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_ASKED

    def join(replies: list[Reply]) -> ConsumerGroupDescribeResponse:
        groups = [
            _answer(group_id, reply)
            for group_id, reply in zip(request.group_ids, replies, strict=True)
        ]
        for group in groups:
            if group.error_code == ErrorCode.NONE:
                group.authorized_operations = operations
        return ConsumerGroupDescribeResponse(groups=groups)

    questions = [
        (group_id, lambda shard, token, name=group_id: shard.consumer.describe(name, token=token))
        for group_id in request.group_ids
    ]
    return call.broker.groups.ask_each(questions, request, call, join, is_read=True)


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
