"""DeleteGroups (42), v0-2: groups of any kind that have no members, and their offsets."""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.coordinator.shard import Reply
from klamm.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from klamm.server.authorization.rights import DELETE_GROUP
from klamm.server.call import Call, Message
from klamm.server.network.pending import Parked


def handle(request: DeleteGroupsRequest, call: Call) -> Message | Parked:
    asked = list(dict.fromkeys(request.groups_names))
    denied = call.denied(DELETE_GROUP, asked)
    names = [name for name in asked if name not in denied]

    def join(replies: list[Reply]) -> DeleteGroupsResponse:
        pairs = zip(names, replies, strict=True)
        return DeleteGroupsResponse(
            results=[
                *(_result(name, reply) for name, reply in pairs),
                *(_result(name, ApiError(DELETE_GROUP.error)) for name in asked if name in denied),
            ]
        )

    questions = [
        (name, lambda shard, token, name=name: shard.delete_group(name, token=token))
        for name in names
    ]
    return call.broker.groups.ask_each(questions, request, call, join)


def fail(request: DeleteGroupsRequest, error: ApiError, version: int) -> DeleteGroupsResponse:
    names = dict.fromkeys(request.groups_names)
    return DeleteGroupsResponse(results=[_result(name, error) for name in names])


def _result(name: str, reply: Reply) -> DeletableGroupResult:
    if isinstance(reply, ApiError):
        return DeletableGroupResult(group_id=name, error_code=reply.code)
    assert isinstance(reply, DeletableGroupResult)
    return reply
