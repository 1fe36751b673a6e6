"""What librdkafka has no call for, in klamm's own words: groups of every kind, and members that are told to go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from klamm.cli.connect import Cluster
from klamm.cli.output import Row, UsageError
from klamm.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from klamm.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

if TYPE_CHECKING:
    from klamm.client.cluster import Cluster as Connections

_DEFAULT_TYPE = "classic"
_REASON = "removed with klamm group remove-member"


def list_all(cluster: Cluster) -> list[Row]:
    """Every broker knows the groups that it coordinates."""

    async def ask(connections: Connections) -> list[ListedGroup]:
        from klamm.client.errors import check

        await connections.refresh()
        found: list[ListedGroup] = []
        for node_id in connections.view.nodes:
            answer = await connections.ask(node_id, ListGroupsRequest(), ListGroupsResponse)
            check(answer.error_code)
            found += answer.groups
        return found

    return [
        {
            "group": group.group_id,
            "state": group.group_state.lower(),
            "type": (group.group_type or _DEFAULT_TYPE).lower(),
            "protocol": group.protocol_type or None,
        }
        for group in cluster.talk("groups cannot be listed", ask)
    ]


def remove(
    cluster: Cluster, group: str, *, members: Sequence[str], instances: Sequence[str]
) -> dict[str, str]:
    """For each who was named: the error, or ""."""
    if not members and not instances:
        raise UsageError("nobody to remove", hint="--member ID, --instance ID or --all")
    request = LeaveGroupRequest(
        group_id=group,
        members=[
            *(MemberIdentity(member_id=name, reason=_REASON) for name in members),
            *(MemberIdentity(group_instance_id=name, reason=_REASON) for name in instances),
        ],
    )

    async def ask(connections: Connections) -> LeaveGroupResponse:
        from klamm.client.cluster import CoordinatorKind
        from klamm.client.errors import check

        answer = await connections.ask_coordinator(
            CoordinatorKind.GROUP, group, request, LeaveGroupResponse
        )
        check(answer.error_code)
        return answer

    answer = cluster.talk(f"group {group} lets nobody go", ask)
    from klamm.client.errors import code_of

    return {
        each.member_id or each.group_instance_id or "": code_of(each.error_code).name
        if each.error_code
        else ""
        for each in answer.members
    }
