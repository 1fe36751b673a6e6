"""`klamm group`: list, describe and delete groups, watch their lag, move their offsets. Thin: parse, ask, print."""

from __future__ import annotations

import fnmatch
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from klamm.cli.connect import (
    ANSWER_TIMEOUT_S,
    DAY_SECONDS,
    DEFAULT_BOOTSTRAP,
    INT64_MAX,
    Bootstrap,
    Cluster,
    Output,
    Properties,
    a_number,
    answer,
    check_names,
    command_group,
    explain,
    kafka_error,
    run_typer,
)
from klamm.cli.group.asking import list_all, remove
from klamm.cli.group.looking import (
    check_has_no_members,
    committed,
    described,
    described_one,
    facts,
    lag_rows,
    member_rows,
    state_of,
)
from klamm.cli.group.resetting import carry_out, chosen, parse_target, plan
from klamm.cli.output import (
    CommandError,
    Format,
    Row,
    complain,
    flush,
    format_or_default,
    notice,
    show,
    write,
)

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

app = command_group("List, describe and delete groups, watch their lag, move their offsets.")
Group = Annotated[str, typer.Argument(metavar="GROUP", help="The group, by name.")]
Groups = Annotated[list[str], typer.Argument(metavar="GROUP", help="Groups, by name.")]

_CLEAR_SCREEN = b"\x1b[2J\x1b[H"


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "group", arguments)


@app.command("list")
def list_groups(
    pattern: Annotated[
        str, typer.Argument(help="Only names like this, for example 'billing-*'.")
    ] = "*",
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Also groups that are not of consumers.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """List groups."""
    cluster = Cluster.at(bootstrap, properties)
    rows = list_all(cluster) if everything else _consumer_groups(cluster.admin())
    named = {str(row["group"]): row for row in rows}
    show((named[name] for name in sorted(named) if fnmatch.fnmatchcase(name, pattern)), output)


def _consumer_groups(admin: AdminClient) -> list[Row]:
    listed = answer(
        admin.list_consumer_groups(request_timeout=ANSWER_TIMEOUT_S), "groups cannot be listed"
    )
    for error in listed.errors or ():
        complain(explain("a broker does not tell its groups", error))
    return [
        {
            "group": group.group_id,
            "state": group.state.name.lower(),
            "type": group.type.name.lower(),
            "protocol": None if group.is_simple_consumer_group else "consumer",
        }
        for group in listed.valid or ()
    ]


@app.command()
def describe(
    names: Groups,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Show state, members and what each of them reads."""
    check_names("group", names, may_be_empty=True)
    admin = Cluster.at(bootstrap, properties).admin()
    failed = False
    for name in dict.fromkeys(names):
        try:
            group = described_one(admin, name)
        except CommandError as failure:
            complain(failure)
            failed = True
            continue
        if format_or_default(output) is Format.JSON:
            show([{**facts(group), "members": member_rows(group)}], Format.JSON)
        else:
            show([facts(group)], Format.TABLE)
            show(member_rows(group), Format.TABLE, title=f"\nMembers of {name}")
    if failed:
        raise typer.Exit(1)


@app.command()
def lag(
    names: Groups,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Look again and again, until Ctrl-C.")
    ] = False,
    interval: Annotated[
        float,
        typer.Option(
            "--interval",
            "-i",
            min=0.1,
            max=DAY_SECONDS,
            callback=a_number,
            help="Seconds between two looks.",
        ),
    ] = 2.0,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Show how far groups have read, and how much is left to read."""
    check_names("group", names, may_be_empty=True)
    admin = Cluster.at(bootstrap, properties).admin()
    try:
        while True:
            rows = [row for name in names for row in lag_rows(admin, described_one(admin, name))]
            if watch and sys.stdout.isatty():
                write(_CLEAR_SCREEN)
            show(rows, output)
            if not watch:
                return
            flush()
            time.sleep(interval)
    except KeyboardInterrupt:
        # The only way to end a watch, so not a failure.
        return


@app.command("reset-offsets")
def reset_offsets(
    group: Group,
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", "-t", metavar="TOPIC[:N,...]", help="May be repeated."),
    ] = None,
    all_topics: Annotated[
        bool, typer.Option("--all-topics", help="All that the group has committed for.")
    ] = False,
    to_earliest: Annotated[
        bool, typer.Option("--to-earliest", help="To the first record.")
    ] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="After the last record.")] = False,
    to_offset: Annotated[
        int | None, typer.Option("--to-offset", min=0, max=INT64_MAX, help="To this offset.")
    ] = None,
    shift_by: Annotated[
        int | None,
        typer.Option(
            "--shift-by", min=-INT64_MAX, max=INT64_MAX, help="Forward, or back if negative."
        ),
    ] = None,
    to_datetime: Annotated[
        str | None, typer.Option("--to-datetime", help="2024-05-01T10:00; UTC unless it says.")
    ] = None,
    by_duration: Annotated[
        str | None, typer.Option("--by-duration", help="As long ago as this: 2h, PT2H.")
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Do it; otherwise only show what would be done.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Move the offsets of a group that has no members. Shows what it would do, unless told to --execute."""
    check_names("group", [group], may_be_empty=True)
    target = parse_target(
        to_earliest=to_earliest,
        to_latest=to_latest,
        to_offset=to_offset,
        shift_by=shift_by,
        to_datetime=to_datetime,
        by_duration=by_duration,
        now_ms=int(time.time() * 1000),
    )
    admin = Cluster.at(bootstrap, properties).admin()
    current = committed(admin, group)
    places = chosen(admin, topics or (), all_topics, current)
    check_has_no_members(described(admin, [group])[group], "cannot be reset")
    offsets = plan(admin, places, target, current)
    if execute:
        carry_out(admin, group, offsets)
    rows: list[Row] = [
        {
            "group": group,
            "topic": place.topic,
            "partition": place.partition,
            "committed": current.get(place),
            "new_offset": offset,
            "reset": execute,
        }
        for place, offset in offsets.items()
    ]
    show(rows, output)
    if not execute and rows:
        notice("nothing was changed; --execute does it")


@app.command()
def delete(
    names: Groups,
    if_exists: Annotated[
        bool, typer.Option("--if-exists", help="A group that is not there is fine.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Delete groups without members, with all their offsets."""
    check_names("group", names, may_be_empty=True)
    admin = Cluster.at(bootstrap, properties).admin()
    futures = admin.delete_consumer_groups(
        list(dict.fromkeys(names)), request_timeout=ANSWER_TIMEOUT_S
    )
    rows: list[Row] = []
    for name, future in futures.items():
        try:
            answer(future, f"group {name} was not deleted")
            rows.append({"group": name, "deleted": True})
        except CommandError as failure:
            error = kafka_error(failure)
            if if_exists and error is not None and error.name() == "GROUP_ID_NOT_FOUND":
                rows.append({"group": name, "deleted": False})
            else:
                complain(failure)
    show(rows, output)
    if len(rows) < len(futures):
        raise typer.Exit(1)


@app.command("remove-member")
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
    results = remove(cluster, group, members=members or (), instances=instances or ())
    show((_removed(group, who, error) for who, error in results.items()), output)
    if any(results.values()):
        raise typer.Exit(1)


def _removed(group: str, who: str, error: str) -> Mapping[str, str | bool | None]:
    return {"group": group, "member": who, "removed": not error, "error": error or None}
