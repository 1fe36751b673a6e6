"""`klamm group reset-offsets`: where a group is to read from next, which partitions and which offset of each."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from klamm.base.ids import TopicPartition
from klamm.cli.connect import (
    ANSWER_TIMEOUT_S,
    DEFAULT_BOOTSTRAP,
    INT64_MAX,
    Bootstrap,
    Cluster,
    Output,
    Properties,
    answer,
    check_names,
    explain,
    partitions_of,
)
from klamm.cli.group.arguments import Group
from klamm.cli.group.describe import check_has_no_members, described
from klamm.cli.group.lag import committed
from klamm.cli.offsets import BEGINNING, END, Kind, Position, ask, parse_range
from klamm.cli.output import (
    CommandError,
    Row,
    UsageError,
    notice,
    show,
)

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

_ONE_OF = "--to-earliest, --to-latest, --to-offset, --shift-by, --to-datetime or --by-duration"
# ISO 8601, as Kafka's tool takes it; and the short form of `klamm consume -o @-1h`.
_ISO_DURATION = re.compile(
    r"P(?:(?P<d>\d{1,12})D)?(?:T(?:(?P<h>\d{1,12})H)?(?:(?P<m>\d{1,12})M)?(?:(?P<s>\d{1,12})S)?)?",
    re.ASCII,
)
_SHORT_DURATION = re.compile(r"(\d{1,12})([smhd])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


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


class Target(NamedTuple):
    """Exactly one is not None: a point that is the same for all partitions, or a distance from what was committed."""

    position: Position | None
    shift: int | None


def parse_target(
    *,
    to_earliest: bool,
    to_latest: bool,
    to_offset: int | None,
    shift_by: int | None,
    to_datetime: str | None,
    by_duration: str | None,
    now_ms: int,
) -> Target:
    wanted: list[Target] = []
    if to_earliest:
        wanted.append(Target(BEGINNING, None))
    if to_latest:
        wanted.append(Target(END, None))
    if to_offset is not None:
        wanted.append(Target(Position(Kind.OFFSET, to_offset), None))
    if shift_by is not None:
        wanted.append(Target(None, shift_by))
    if to_datetime is not None:
        wanted.append(Target(_moment(to_datetime, now_ms), None))
    if by_duration is not None:
        past = max(0, now_ms - _duration_ms(by_duration))
        wanted.append(Target(Position(Kind.TIMESTAMP, past), None))
    if len(wanted) != 1:
        raise UsageError(
            "nothing says where to" if not wanted else "more than one place to reset to",
            hint=f"exactly one of {_ONE_OF}",
        )
    return wanted[0]


def _moment(text: str, now_ms: int) -> Position:
    try:
        start, end = parse_range(f"@{text}", now_ms=now_ms)
    except UsageError:
        end = None
        start = BEGINNING
    if start.kind is not Kind.TIMESTAMP or end is not None:
        raise UsageError(f"{text!r} is not a time", hint="--to-datetime 2024-05-01T10:00")
    return start


def _duration_ms(text: str) -> int:
    if short := _SHORT_DURATION.fullmatch(text):
        return int(short[1]) * _SECONDS[short[2]] * 1000
    parts = _ISO_DURATION.fullmatch(text)
    amounts = {unit: int(n) for unit, n in parts.groupdict().items() if n} if parts else {}
    if not amounts:
        raise UsageError(f"{text!r} is not a duration", hint="--by-duration 2h or PT2H")
    return sum(_SECONDS[unit] * n for unit, n in amounts.items()) * 1000


def chosen(
    admin: AdminClient,
    topics: Sequence[str],
    all_topics: bool,
    committed: Mapping[TopicPartition, int],
) -> list[TopicPartition]:
    """`topic` or `topic:0,2`; or whatever the group has committed for."""
    if bool(topics) == all_topics:
        raise UsageError(
            "which partitions?", hint="--topic TOPIC, --topic TOPIC:0,2 or --all-topics"
        )
    if all_topics:
        return list(committed)
    places: dict[TopicPartition, None] = {}
    for text in topics:
        topic, colon, numbers = text.partition(":")
        existing = partitions_of(admin, topic)
        wanted = existing
        if colon:
            try:
                wanted = [TopicPartition(topic, int(number)) for number in numbers.split(",")]
            except ValueError:
                raise UsageError(
                    f"--topic {text!r} is not TOPIC:N,N", hint="--topic orders:0,2"
                ) from None
        if missing := [place for place in wanted if place not in existing]:
            raise CommandError(
                f"there is no partition {missing[0]}", hint=f"klamm topic describe {topic}"
            )
        places.update(dict.fromkeys(wanted))
    return list(places)


def plan(
    admin: AdminClient,
    places: Sequence[TopicPartition],
    target: Target,
    committed: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """The new offset of each partition, always one that its log reaches."""
    if not places:
        return {}
    first, last = ask(admin, places, BEGINNING), ask(admin, places, END)
    if target.shift is not None:
        if missing := [place for place in places if place not in committed]:
            raise CommandError(f"nothing was committed for {missing[0]}, so it cannot be shifted")
        shift = target.shift
        wanted: Mapping[TopicPartition, int] = {place: committed[place] + shift for place in places}
    else:
        assert target.position is not None
        wanted = _wanted(admin, places, target.position, first, last)
    return {place: _within(place, wanted[place], first[place], last[place]) for place in places}


def _wanted(
    admin: AdminClient,
    places: Sequence[TopicPartition],
    position: Position,
    first: Mapping[TopicPartition, int],
    last: Mapping[TopicPartition, int],
) -> Mapping[TopicPartition, int]:
    match position.kind:
        case Kind.BEGINNING:
            return first
        case Kind.END:
            return last
        case Kind.OFFSET:
            return dict.fromkeys(places, position.value)
        case _:
            found = ask(admin, places, position)
            # No record is as late as that: the next to come will be.
            return {p: last[p] if offset < 0 else offset for p, offset in found.items()}


def _within(place: TopicPartition, offset: int, first: int, last: int) -> int:
    nearest = min(max(offset, first), last)
    if nearest != offset:
        notice(f"{place} holds offsets {first} to {last}: {nearest} instead of {offset}")
    return nearest


def carry_out(admin: AdminClient, group: str, offsets: Mapping[TopicPartition, int]) -> None:
    from confluent_kafka import ConsumerGroupTopicPartitions
    from confluent_kafka import TopicPartition as ClientPartition

    if not offsets:
        return
    wanted = [ClientPartition(*place, offset) for place, offset in offsets.items()]
    futures = admin.alter_consumer_group_offsets(
        [ConsumerGroupTopicPartitions(group, wanted)], request_timeout=ANSWER_TIMEOUT_S
    )
    done = answer(futures[group], f"the offsets of group {group} were not changed")
    for place in done.topic_partitions:
        if place.error is not None:
            raise explain(f"{place.topic}-{place.partition} was not changed", place.error)
