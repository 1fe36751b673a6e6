"""ListGroups (16), v0-5: the groups that this broker coordinates.

v4  filter by state
v5  filter by type
"""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from klamm.server.call import Call


def handle(request: ListGroupsRequest, call: Call) -> ListGroupsResponse:
    if call.broker.groups.is_loading:
        raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    states = frozenset(state.strip().lower() for state in request.states_filter)
    types = frozenset(name.strip().lower() for name in request.types_filter)
    return ListGroupsResponse(
        groups=[
            group
            for shard in call.broker.groups.shards()
            for group in shard.list_groups(states, types)
        ]
    )
