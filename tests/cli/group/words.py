"""The words of these tests: members, and where a group stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer

from cli.commands import Klamm

Member = Callable[..., Consumer]


def lag_of(ask: Klamm, group: str) -> dict[int, tuple[Any, Any, Any]]:
    rows = ask("group", "lag", group).rows
    return {row["partition"]: (row["committed"], row["end_offset"], row["lag"]) for row in rows}


def moved(ask: Klamm, group: str, *how: str) -> dict[int, int]:
    answer = ask("group", "reset-offsets", group, *how)
    assert answer.code == 0, answer.err
    return {row["partition"]: row["new_offset"] for row in answer.rows}
