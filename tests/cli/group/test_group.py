"""klamm group list, describe, lag, reset-offsets, delete, remove-member; klamm consume -g."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from cli.commands import Klamm
from support.patience import eventually

Member = Callable[..., Consumer]
KLAMM = str(Path(sys.executable).with_name("klamm"))


@pytest.fixture
def filled(ask: Klamm, topic: str) -> str:
    """Ten records in partition 0, five in partition 1."""
    for partition, count in ((0, 10), (1, 5)):
        lines = b"".join(b"%d\n" % number for number in range(count))
        assert ask("produce", topic, "-p", str(partition), stdin=lines).code == 0
    return topic


@pytest.fixture
def group(ask: Klamm, filled: str, new_name: str) -> Iterator[str]:
    """A group without members that has read three records of partition 0."""
    name = f"{new_name}-group"
    place = f"{filled}:0"
    made = ask("group", "reset-offsets", name, "-t", place, "--to-offset", "3", "--execute")
    assert made.code == 0, made.err
    yield name
    ask("group", "delete", name, "--if-exists")


@pytest.fixture
def join(broker: str, ask: Klamm, filled: str) -> Iterator[Member]:
    """Makes a consumer join a group and waits until it is in."""
    members: list[Consumer] = []

    def join_one(group: str, **settings: str) -> Consumer:
        member = Consumer(
            {
                "bootstrap.servers": broker,
                "group.id": group,
                "client.id": "cli-test",
                "auto.offset.reset": "earliest",
                **{key.replace("_", "."): value for key, value in settings.items()},
            }
        )
        members.append(member)
        member.subscribe([filled])

        def look() -> None:
            member.poll(0.1)
            assert len(member.assignment()) == 2

        eventually(look, seconds=30)
        return member

    yield join_one
    for member in members:
        member.close()


def lag_of(ask: Klamm, group: str) -> dict[int, tuple[Any, Any, Any]]:
    rows = ask("group", "lag", group).rows
    return {row["partition"]: (row["committed"], row["end_offset"], row["lag"]) for row in rows}


def moved(ask: Klamm, group: str, *how: str) -> dict[int, int]:
    answer = ask("group", "reset-offsets", group, *how)
    assert answer.code == 0, answer.err
    return {row["partition"]: row["new_offset"] for row in answer.rows}


def test_a_group_is_listed_with_its_state_and_kind(ask: Klamm, group: str) -> None:
    expected = [{"group": group, "state": "empty", "type": "classic", "protocol": None}]

    assert ask("group", "list", f"{group[:-1]}*").rows == expected
    assert ask("group", "list", "--all", group).rows == expected


def test_lag_is_what_is_left_to_read(ask: Klamm, group: str) -> None:
    assert lag_of(ask, group) == {0: (3, 10, 7)}


def test_describe_tells_members_and_their_partitions(
    ask: Klamm, join: Member, filled: str, new_name: str
) -> None:
    join(new_name, group_instance_id="desk-1")

    (described,) = ask("group", "describe", new_name).rows

    assert (described["state"], described["type"]) == ("stable", "classic")
    assert described["assignor"] == "range"
    (member,) = described["members"]
    assert (member["instance_id"], member["client_id"]) == ("desk-1", "cli-test")
    assert member["partitions"] == [f"{filled}-0", f"{filled}-1"]
    (row, _) = ask("group", "lag", new_name).rows
    assert (row["committed"], row["client_id"]) == (None, "cli-test")


def test_describe_draws_tables(ask: Klamm, group: str) -> None:
    drawn = ask("group", "describe", group, "-o", "table").text

    assert group in drawn
    assert f"Members of {group}" in drawn


def test_a_group_that_is_not_there_is_said_so(ask: Klamm, group: str) -> None:
    described = ask("group", "describe", f"{group}-absent", group)

    assert described.code == 1
    assert [row["group"] for row in described.rows] == [group]
    assert f"there is no group {group}-absent" in described.err
    assert ask("group", "lag", f"{group}-absent").code == 1


def test_a_reset_is_only_shown_unless_told_to_execute(ask: Klamm, filled: str, group: str) -> None:
    shown = ask("group", "reset-offsets", group, "--all-topics", "--to-latest")

    assert shown.rows == [
        {
            "group": group,
            "topic": filled,
            "partition": 0,
            "committed": 3,
            "new_offset": 10,
            "reset": False,
        }
    ]
    assert "--execute" in shown.err
    assert lag_of(ask, group) == {0: (3, 10, 7)}


@pytest.mark.parametrize(
    ("how", "offset"),
    [
        (("--to-earliest",), 0),
        (("--to-latest",), 10),
        (("--to-offset", "4"), 4),
        (("--to-offset", "400"), 10),
        (("--shift-by", "2"), 5),
        (("--shift-by", "-2"), 1),
        (("--shift-by", "-20"), 0),
        (("--to-datetime", "2001-01-01T00:00"), 0),
        (("--to-datetime", "2999-01-01T00:00+01:00"), 10),
        (("--by-duration", "PT1H"), 0),
        (("--by-duration", "2d"), 0),
    ],
)
def test_offsets_are_reset_to(ask: Klamm, group: str, how: tuple[str, ...], offset: int) -> None:
    assert moved(ask, group, "--all-topics", *how, "--execute") == {0: offset}
    assert lag_of(ask, group) == {0: (offset, 10, 10 - offset)}


def test_partitions_to_reset_are_named_with_their_topic(
    ask: Klamm, group: str, filled: str
) -> None:
    assert moved(ask, group, "-t", filled, "--to-latest") == {0: 10, 1: 5}
    assert moved(ask, group, "-t", f"{filled}:1", "--to-latest") == {1: 5}
    assert moved(ask, group, "-t", f"{filled}:0,1", "--to-earliest") == {0: 0, 1: 0}


@pytest.mark.parametrize(
    ("how", "code", "complaint"),
    [
        (("--all-topics",), 2, "nothing says where to"),
        (("--all-topics", "--to-latest", "--to-earliest"), 2, "more than one place"),
        (("--to-latest",), 2, "which partitions?"),
        (("--all-topics", "--by-duration", "soon"), 2, "'soon' is not a duration"),
        (("--all-topics", "--to-datetime", "soon"), 2, "'soon' is not a time"),
        (("-t", "{topic}:one", "--to-latest"), 2, "is not TOPIC:N,N"),
        (("-t", "{topic}:7", "--to-latest"), 1, "there is no partition {topic}-7"),
        (("-t", "{topic}:1", "--shift-by", "1"), 1, "nothing was committed for {topic}-1"),
    ],
)
def test_a_reset_that_makes_no_sense_is_refused(
    ask: Klamm, group: str, filled: str, how: tuple[str, ...], code: int, complaint: str
) -> None:
    words = [word.format(topic=filled) for word in how]

    refused = ask("group", "reset-offsets", group, *words)

    assert (refused.code, refused.out) == (code, b"")
    assert complaint.format(topic=filled) in refused.err


def test_a_group_with_members_is_neither_reset_nor_deleted(
    ask: Klamm, join: Member, filled: str, new_name: str
) -> None:
    join(new_name)

    reset = ask("group", "reset-offsets", new_name, "-t", filled, "--to-latest", "--execute")
    deleted = ask("group", "delete", new_name)

    assert (reset.code, deleted.code) == (1, 1)
    assert "remove-member" in reset.err
    assert "NON_EMPTY_GROUP" in deleted.err


def test_a_deleted_group_is_gone_with_its_offsets(ask: Klamm, group: str) -> None:
    assert ask("group", "delete", group).rows == [{"group": group, "deleted": True}]

    assert ask("group", "list", group).rows == []
    refused = ask("group", "delete", group)
    assert (refused.code, refused.rows) == (1, [])
    assert "GROUP_ID_NOT_FOUND" in refused.err
    accepted = ask("group", "delete", group, "--if-exists")
    assert (accepted.code, accepted.rows) == (0, [{"group": group, "deleted": False}])


def test_members_are_removed_by_instance_by_id_and_all(
    ask: Klamm, join: Member, new_name: str
) -> None:
    join(new_name, group_instance_id="desk-1")

    removed = ask("group", "remove-member", new_name, "--instance", "desk-1")

    assert (removed.code, removed.rows[0]["removed"]) == (0, True)
    assert ask("group", "describe", new_name).rows[0]["members"] == []
    assert ask("group", "remove-member", new_name).code == 2
    unknown = ask("group", "remove-member", new_name, "--member", "nobody")
    assert (unknown.code, unknown.rows[0]["error"]) == (1, "UNKNOWN_MEMBER_ID")


def test_all_members_are_removed(ask: Klamm, join: Member, new_name: str) -> None:
    join(new_name)

    removed = ask("group", "remove-member", new_name, "--all")

    assert (removed.code, [row["removed"] for row in removed.rows]) == (0, [True])


def test_a_group_without_members_has_nobody_to_remove(ask: Klamm, group: str) -> None:
    removed = ask("group", "remove-member", group, "--all")

    assert (removed.code, removed.out) == (0, b"")
    assert "has no members" in removed.err


def test_consume_with_a_group_goes_on_where_the_group_stopped(ask: Klamm, group: str) -> None:
    (lagging,) = ask("group", "lag", group).rows
    topic = lagging["topic"]

    first = ask("consume", topic, "-g", group, "-n", "4", "-f", "%p:%o\\n")
    rest = ask("consume", topic, "-g", group, "--exit", "-f", "%p:%o\\n")

    assert (first.code, rest.code) == (0, 0), rest.err
    read = [tuple(map(int, line.split(":"))) for line in (first.text + rest.text).splitlines()]
    assert sorted(read) == [(0, n) for n in range(3, 10)] + [(1, n) for n in range(5)]
    assert lag_of(ask, group) == {0: (10, 10, 0), 1: (5, 5, 0)}


def test_consume_with_a_new_group_may_begin_at_the_end(
    ask: Klamm, filled: str, new_name: str
) -> None:
    assert ask("consume", filled, "-g", new_name, "-o", "end", "--exit").out == b""


@pytest.mark.parametrize("extra", [("-p", "0"), ("-o", "4"), ("-o", ":4")])
def test_a_member_cannot_choose_what_it_reads(
    ask: Klamm, filled: str, extra: tuple[str, str]
) -> None:
    refused = ask("consume", filled, "-g", "any", *extra)

    assert refused.code == 2
    assert "reset-offsets" in refused.err


def test_a_watch_looks_again_until_it_is_stopped(broker: str, ask: Klamm, group: str) -> None:
    words = (KLAMM, "group", "lag", group, "-w", "-i", "0.1", "-b", broker)
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        text=True,
        # Whoever runs tests in the background of a script has SIGINT ignored in all that they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as watch:
        assert watch.stdout is not None
        assert json.loads(watch.stdout.readline())["lag"] == 7
        ask("group", "reset-offsets", group, "--all-topics", "--to-latest", "--execute")

        for line in watch.stdout:
            if json.loads(line)["lag"] == 0:
                break
        watch.send_signal(signal.SIGINT)

        assert watch.wait(timeout=20) == 0
