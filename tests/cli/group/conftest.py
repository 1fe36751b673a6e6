"""A topic with records, a group that has read some, and members."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer

from cli.commands import Klamm
from cli.group.words import Member
from support.patience import eventually


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
