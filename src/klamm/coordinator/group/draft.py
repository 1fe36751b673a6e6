"""Draft: a decision while it is being made. One request may end a round, and so answer many who wait."""

from __future__ import annotations

from klamm.base.token import Token
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.coordinator.shard import NOTHING, Outcome, Producer, Reply


class Draft:
    __slots__ = ("records", "replies")

    def __init__(self) -> None:
        self.records: list[CoordinatorRecord] = []
        self.replies: list[tuple[Token, Reply]] = []

    def reply(self, token: Token, reply: Reply) -> None:
        self.replies.append((token, reply))

    def add(self, outcome: Outcome) -> None:
        self.records.extend(outcome.records)
        self.replies.extend(outcome.replies)

    def outcome(self, producer: Producer | None = None) -> Outcome:
        if not self.records and not self.replies:
            return NOTHING
        return Outcome(self.records, self.replies, producer)
