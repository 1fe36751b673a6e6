"""Runtime: append, replay, and hold the replies until what they saw is committed.

If an append fails nothing has been replayed, but the shard may have moved what it does not write down (who waits,
who is a member of the next round). So it is not used again: the shell forgets it and loads another from the log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from klamm.base.clock import Ms
from klamm.base.outcome import Token
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

    def append(
        self, records: Sequence[CoordinatorRecord], producer: Producer | None, now: Ms
    ) -> int:
        """Returns the offset of the first; raises ApiError."""
        ...


class Runtime(Generic[ShardT]):
    __slots__ = ("_held", "_writer", "shard")

    def __init__(self, shard: ShardT, writer: PartitionWriter) -> None:
        self.shard = shard
        self._writer = writer
        # Replies, and the offset that must be committed before they are sent; offsets only rise.
        self._held: deque[tuple[int, Replies]] = deque()

    def run(self, decide: Callable[[ShardT], Outcome], now: Ms) -> Replies:
        """Let the shard decide and make it so. Returns the replies that may be sent now."""
        return self.carry_out(decide(self.shard), now)

    def carry_out(self, outcome: Outcome, now: Ms) -> Replies:
        if outcome.records:
            offset = self._writer.append(outcome.records, outcome.producer, now)
            for record in outcome.records:
                self.shard.replay(record, offset, outcome.producer)
                offset += 1
        if not outcome.replies:
            return ()
        if self.is_settled:
            return outcome.replies
        self._held.append((self._writer.end_offset, outcome.replies))
        return ()

    @property
    def is_settled(self) -> bool:
        """Everything written is committed, so a reply need not wait."""
        writer = self._writer
        return not self._held and writer.high_watermark >= writer.end_offset

    @property
    def commits_at_once(self) -> bool:
        return self._writer.commits_at_once

    def committed(self) -> Iterable[tuple[Token, Reply]]:
        """The high watermark rose: the replies that waited for it."""
        high_watermark = self._writer.high_watermark
        while self._held and self._held[0][0] <= high_watermark:
            yield from self._held.popleft()[1]
