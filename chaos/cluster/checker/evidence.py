"""What the history is held against: what lies in the logs when all is quiet, and what new readers and groups find then."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from chaos.cluster.checker.history import History, Send, Transaction
from klamm.base.ids import TopicPartition


class Written(NamedTuple):
    """A record as it lies in the log. `is_committed` is None while its transaction has no end."""

    offset: int
    value: bytes
    producer_id: int = -1
    epoch: int = -1
    sequence: int = -1
    is_transactional: bool = False
    is_committed: bool | None = True


@dataclass(slots=True)
class Log:
    """Of one partition, in the order of its offsets."""

    records: list[Written] = field(default_factory=list)
    end: int = 0


class FoundOffset(NamedTuple):
    """What a group has committed, and from when to when somebody asked for it."""

    offset: int
    invoked: float
    completed: float


@dataclass
class Evidence:
    history: History
    logs: dict[TopicPartition, Log] = field(default_factory=dict)
    # By reader: what it found from the first offset to the last. The names say who reads only what is committed.
    final_committed: dict[str, dict[TopicPartition, dict[int, bytes]]] = field(default_factory=dict)
    final_uncommitted: dict[str, dict[TopicPartition, dict[int, bytes]]] = field(
        default_factory=dict
    )
    offsets: dict[tuple[str, TopicPartition], FoundOffset] = field(default_factory=dict)
    # Topics that a copier writes, and from which: with its transactions each record is there once.
    copies: dict[str, str] = field(default_factory=dict)

    @cached_property
    def at(self) -> dict[TopicPartition, dict[int, Written]]:
        return {
            place: {each.offset: each for each in log.records} for place, log in self.logs.items()
        }

    @cached_property
    def visible(self) -> dict[TopicPartition, list[int]]:
        """Offsets, in order, of what a reader of committed records is given."""
        return {
            place: [each.offset for each in log.records if each.is_committed is True]
            for place, log in self.logs.items()
        }

    @cached_property
    def everything(self) -> dict[TopicPartition, list[int]]:
        """Offsets, in order, of all records."""
        return {place: [each.offset for each in log.records] for place, log in self.logs.items()}

    @cached_property
    def places_of(self) -> dict[bytes, list[tuple[TopicPartition, Written]]]:
        found: dict[bytes, list[tuple[TopicPartition, Written]]] = {}
        for place, log in self.logs.items():
            for each in log.records:
                found.setdefault(each.value, []).append((place, each))
        return found

    @cached_property
    def send_of(self) -> dict[bytes, Send]:
        return {send.value: send for send in self.history.sends}

    def is_visible(self, send: Send) -> bool:
        """Whether a reader of committed records sees it somewhere in its partition."""
        return any(
            place == send.place and each.is_committed is True
            for place, each in self.places_of.get(send.value, ())
        )

    def transaction_of(self, value: bytes) -> Transaction | None:
        send = self.send_of.get(value)
        return None if send is None else send.transaction
