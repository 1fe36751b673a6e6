"""The smallest shard: named counters, which somebody may wait for."""

from __future__ import annotations

from collections.abc import Hashable

from klamm.base.clock import Now
from klamm.base.deadlines import Deadlines
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.token import Token
from klamm.coordinator.records.framing import CoordinatorRecord, Framing
from klamm.coordinator.records.transaction import TransactionLogKey, TransactionLogValue
from klamm.coordinator.shard import NOTHING, Outcome, Producer, Room
from klamm.metadata.image import ClusterImage

# A borrowed kind of record: the name, and the count as the id of a producer.
FRAMING = Framing(((TransactionLogKey, TransactionLogValue),))


class Counting:
    def __init__(self) -> None:
        self.deadlines: Deadlines[Hashable] = Deadlines()
        self.counts: dict[str, int] = {}
        self.ended: list[tuple[Producer, bool]] = []
        self.seen: list[tuple[str, int, Producer | None]] = []
        self.is_loaded = False
        self._waiting: list[Token] = []

    def add(self, name: str, token: Token, producer: Producer | None = None) -> Outcome:
        if name == "refused":
            raise ApiError(ErrorCode.INVALID_REQUEST)
        count = self.counts.get(name, 0) + 1
        value = TransactionLogValue(producer_id=count)
        record = CoordinatorRecord(TransactionLogKey(transactional_id=name), value, 1)
        return Outcome([record], [(token, count)], producer)

    def count(self, name: str, token: Token) -> Outcome:
        return Outcome(replies=[(token, self.counts.get(name, 0))])

    def wait(self, token: Token, until: int) -> Outcome:
        self._waiting.append(token)
        self.deadlines.set("waiting", until)
        return NOTHING

    def limit(self, room: Room) -> None:
        """It writes little."""

    def replay(self, record: CoordinatorRecord, offset: int, producer: Producer | None) -> None:
        assert isinstance(record.key, TransactionLogKey)
        assert isinstance(record.value, TransactionLogValue)
        self.counts[record.key.transactional_id] = record.value.producer_id
        self.seen.append((record.key.transactional_id, offset, producer))

    def replay_end(self, producer: Producer, is_commit: bool) -> None:
        self.ended.append((producer, is_commit))

    def loaded(self, image: ClusterImage, now: Now) -> Outcome:
        self.is_loaded = True
        return NOTHING

    def follow(self, image: ClusterImage, now: Now) -> Outcome:
        return NOTHING

    def wake(self, now: Now) -> Outcome:
        self.deadlines.due(now.monotonic)
        waiting, self._waiting = self._waiting, []
        return Outcome(replies=[(token, sum(self.counts.values())) for token in waiting])

    def close(self) -> None:
        self.counts.clear()

    def check_invariants(self) -> None:
        assert all(count > 0 for count in self.counts.values())
