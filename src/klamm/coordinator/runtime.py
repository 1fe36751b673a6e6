"""Runtime: append, replay, and hold the replies until what they saw is committed.

If an append fails nothing has been replayed, but the shard may have moved what it does not write down (who waits,
who is a member of the next round). So it is not used again: the shell forgets it and loads another from the log.

What is appended is replayed before it is committed: the next decision builds on it, and its reply waits for both. A reply that
waits for too long is given up, what was written stands: whoever asked comes again and sees.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from klamm.base.clock import Ms, Now
from klamm.base.token import Token
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.coordinator.shard import Outcome, Producer, Reply, Shard

ShardT = TypeVar("ShardT", bound=Shard)
Replies = Sequence[tuple[Token, Reply]]


class PartitionWriter(Protocol):
    """The partition that the shard's records live in."""

    @property
    def high_watermark(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    @property
    def commits_at_once(self) -> bool:
        """Nobody else has to have what is appended."""
        ...

    @property
    def is_open(self) -> bool:
        """So many replicas are in sync that an append would be taken."""
        ...

    def append(
        self, records: Sequence[CoordinatorRecord], producer: Producer | None, now: Ms
    ) -> int:
        """Returns the offset of the first; raises ApiError."""
        ...


class _Held(NamedTuple):
    """Replies, and the offset that must be committed before they are sent."""

    offset: int
    deadline: Ms
    replies: Replies


class Runtime(Generic[ShardT]):
    __slots__ = ("_held", "_timeout_ms", "_writer", "shard")

    def __init__(self, shard: ShardT, writer: PartitionWriter, timeout_ms: Ms) -> None:
        self.shard = shard
        self._writer = writer
        self._timeout_ms = timeout_ms
        # Offsets and deadlines only rise.
        self._held: deque[_Held] = deque()

    def carry_out(self, outcome: Outcome, now: Now) -> Replies:
        """Make a decision of the shard so. Returns the replies that may be sent now."""
        if outcome.records:
            offset = self._writer.append(outcome.records, outcome.producer, now.wall)
            for record in outcome.records:
                self.shard.replay(record, offset, outcome.producer)
                offset += 1
        if not outcome.replies:
            return ()
        if self.is_settled:
            return outcome.replies
        # Deviation: who only reads waits, too. Kafka shows it what was committed before.
        deadline = now.monotonic + self._timeout_ms
        self._held.append(_Held(self._writer.end_offset, deadline, outcome.replies))
        return ()

    @property
    def is_settled(self) -> bool:
        """Everything written is committed, so a reply need not wait."""
        writer = self._writer
        return not self._held and writer.high_watermark >= writer.end_offset

    @property
    def commits_at_once(self) -> bool:
        return self._writer.commits_at_once

    @property
    def is_open(self) -> bool:
        """A decision with records would be taken. One that would not is not made: there would be much to undo."""
        return self._writer.is_open

    def committed(self) -> Iterable[tuple[Token, Reply]]:
        """The high watermark rose: the replies that waited for it."""
        while self._held and self._held[0].offset <= self._writer.high_watermark:
            yield from self._held.popleft().replies

    @property
    def next_deadline(self) -> Ms | None:
        return self._held[0].deadline if self._held else None

    def overdue(self, now: Ms) -> Iterator[Token]:
        """Who has waited for too long, and is to hear so."""
        while self._held and self._held[0].deadline <= now:
            for token, _ in self._held.popleft().replies:
                yield token
