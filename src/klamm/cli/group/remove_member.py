"""`klamm group remove-member`: members that are told to go. librdkafka has no call for it, so klamm asks by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    Bootstrap,
    Cluster,
    Output,
    Properties,
    check_names,
)
from klamm.cli.group.arguments import Group
from klamm.cli.group.describe import described_one, state_of
from klamm.cli.output import (
    UsageError,
    notice,
    show,
)
from klamm.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)

if TYPE_CHECKING:
    from klamm.client.cluster import Cluster as Connections

_REASON = "removed with klamm group remove-member"


def remove_member(
    group: Group,
    members: Annotated[
        list[str] | None,
        typer.Option("--member", "-m", metavar="ID", help="By member id; may be repeated."),
    ] = None,
    instances: Annotated[
        list[str] | None,
        typer.Option("--instance", "-i", metavar="ID", help="By group.instance.id; repeatable."),
    ] = None,
    everybody: Annotated[bool, typer.Option("--all", "-a", help="All members.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Take members out of a group. One that still runs will join again."""
    check_names("group", [group], may_be_empty=True)
    check_names("member", [*(members or ()), *(instances or ())])
    cluster = Cluster.at(bootstrap, properties)
    if everybody:
        found = described_one(cluster.admin(), group)
        members = [member.member_id for member in found.members]
        if not members:
            notice(f"group {group} has no members: it is {state_of(found).lower()}")
            return
    results = _remove(cluster, group, members=members or (), instances=instances or ())
    show((_removed(group, who, error) for who, error in results.items()), output)
    if any(results.values()):
        raise typer.Exit(1)


def _removed(group: str, who: str, error: str) -> Mapping[str, str | bool | None]:
    return {"group": group, "member": who, "removed": not error, "error": error or None}


def _remove(
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
    from klamm.base.errors import code_of

    return {
        each.member_id or each.group_instance_id or "": code_of(each.error_code).name
        if each.error_code
        else ""
        for each in answer.members
    }
