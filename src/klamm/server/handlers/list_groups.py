"""ListGroups (16), v0-5: the groups that this broker coordinates.

v4  filter by state
v5  filter by type
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.token import Token
from klamm.coordinator.group.shard import GroupShard
from klamm.coordinator.shard import Outcome, Reply
from klamm.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from klamm.server.authorization.rights import DESCRIBE_CLUSTER, DESCRIBE_GROUP
from klamm.server.call import Call, Message, Steps
from klamm.server.network.pending import Parked


def handle(request: ListGroupsRequest, call: Call) -> Message | Parked | Steps:
    groups = call.broker.groups
    if groups.is_loading:
        raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    states = frozenset(state.strip().lower() for state in request.states_filter)
    types = frozenset(name.strip().lower() for name in request.types_filter)

    def list_all(shard: GroupShard, token: Token) -> Outcome:
        return Outcome(replies=((token, shard.list_groups(states, types)),))

    # Each shard's answer waits until what it has seen is committed.
    questions = [(index, list_all) for index in groups.indexes]
    return groups.ask_each(
        questions, request, call, lambda replies: _join(replies, call), is_read=True
    )


def _join(replies: list[Reply], call: Call) -> ListGroupsResponse:
    response = ListGroupsResponse()
    for reply in replies:
        if isinstance(reply, list):
            response.groups += reply
        elif isinstance(reply, ApiError) and reply.code is not ErrorCode.NOT_COORDINATOR:
            return ListGroupsResponse(error_code=reply.code)
    if not call.may(DESCRIBE_CLUSTER, quietly=True):
        # Groups of which the client may know nothing are not there.
        hidden = call.denied(
            DESCRIBE_GROUP, (group.group_id for group in response.groups), quietly=True
        )
        response.groups = [group for group in response.groups if group.group_id not in hidden]
    return response
