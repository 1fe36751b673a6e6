"""A quorum of machines on virtual time: messages that are late or lost, cuts, crashes that forget what was not synced.

Everything comes from one seed. `Ledger` is the judge: it sees every step.
"""

import heapq
from ast import literal_eval
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from random import Random

from klamm.base.errors import ErrorCode
from klamm.base.ids import OffsetAndEpoch
from klamm.protocol.records.batch import read_header
from klamm.protocol.records.reader import read_records
from klamm.raft.election_state import ElectionState, dump, parse
from klamm.raft.messages import (
    Address,
    Batch,
    Fetch,
    FetchAnswer,
    Ready,
    ReplicaKey,
    Send,
    SnapshotAnswer,
)
from klamm.raft.node import RaftNode
from klamm.raft.roles import Role
from klamm.raft.voters import VoterHistory, VoterRecords, VoterSet

_FETCH_WAIT_MS = 500
_PIECE = 4096
_SNAPSHOT_PIECE = 700


class Store:
    """A node's disk: batches in order, how many of them are synced, and the election state."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.synced = 0
        # How many of them the judge has seen committed: it need not read them again.
        self.judged = 0
        self.election = dump(ElectionState())
        # Where the log begins: behind the snapshot of that place, if there is one.
        self.start = OffsetAndEpoch(0, 0)
        # What was committed up to there, as (epoch, value).
        self.snapshots: dict[OffsetAndEpoch, list[tuple[int, bytes]]] = {}
        self.part = b""

    @property
    def start_offset(self) -> int:
        return self.start.offset

    @property
    def earliest_snapshot(self) -> OffsetAndEpoch | None:
        return min(self.snapshots, default=None)

    @property
    def newest_snapshot(self) -> OffsetAndEpoch | None:
        return max(self.snapshots, default=None)

    @property
    def end(self) -> OffsetAndEpoch:
        if not self.batches:
            return self.start
        return OffsetAndEpoch(self.batches[-1].end_offset, self.batches[-1].epoch)

    def end_of_epoch(self, epoch: int) -> OffsetAndEpoch:
        found = OffsetAndEpoch(self.start.offset, min(epoch, self.start.epoch))
        for batch in self.batches:
            if batch.epoch > epoch:
                break
            found = OffsetAndEpoch(batch.end_offset, batch.epoch)
        return found

    def epoch_before(self, offset: int) -> int:
        below = (b.epoch for b in self.batches if b.base_offset < offset)
        return max(below, default=self.start.epoch)

    def truncate(self, offset: int) -> None:
        self.batches = [each for each in self.batches if each.end_offset <= offset]
        assert self.end.offset == offset
        self.synced = min(self.synced, len(self.batches))
        self.judged = min(self.judged, len(self.batches))

    def read(self, offset: int, high: int = 1 << 60) -> bytes:
        found = [bytes(b.data) for b in self.batches if offset <= b.base_offset < high]
        return b"".join(found)[:_PIECE] if found else b""

    def take_snapshot(self, high_watermark: int) -> None:
        """Of what is committed, from the snapshot before and the log behind it."""
        newest = self.newest_snapshot
        state = list(self.snapshots[newest]) if newest is not None else []
        at = newest or OffsetAndEpoch(0, 0)
        for batch in self.batches:
            if at.offset <= batch.base_offset and batch.end_offset <= high_watermark:
                state += [(batch.epoch, each.value or b"") for each in read_records(batch.data)]
                at = OffsetAndEpoch(batch.end_offset, batch.epoch)
        if at.offset:
            self.snapshots[at] = state

    def clean(self) -> None:
        """Only the newest snapshot stays, and the log behind it."""
        newest = self.newest_snapshot
        if newest is None:
            return
        self.snapshots = {newest: self.snapshots[newest]}
        gone = sum(1 for each in self.batches if each.end_offset <= newest.offset)
        del self.batches[:gone]
        self.synced -= gone
        self.judged = max(0, self.judged - gone)
        self.start = max(self.start, newest)

    def begin_at(self, at: OffsetAndEpoch, state: list[tuple[int, bytes]]) -> None:
        """A snapshot of the leader's takes the place of everything."""
        self.snapshots = {at: state}
        self.start = at
        self.batches.clear()
        self.synced = self.judged = 0

    def crash(self, chance: Random) -> None:
        """What was not synced is gone, or some of it is not."""
        kept = chance.randint(self.synced, len(self.batches))
        del self.batches[kept:]
        self.synced = len(self.batches)
        self.judged = min(self.judged, len(self.batches))


class Ledger:
    """What was committed, by whoever said so first."""

    def __init__(self) -> None:
        self.leaders: dict[int, int] = {}
        self.committed: list[tuple[int, bytes]] = []
        self.votes: dict[tuple[int, int], ReplicaKey] = {}

    def look(self, node: RaftNode, store: Store) -> None:
        node.check_invariants()
        assert node.end_offset == store.end.offset
        if node.role is Role.LEADER:
            first = self.leaders.setdefault(node.epoch, node.me.id)
            assert first == node.me.id, f"two leaders in epoch {node.epoch}"
        voted = parse(store.election)
        if voted.voted_id is not None:
            key = ReplicaKey(voted.voted_id, voted.voted_directory)
            before = self.votes.setdefault((node.me.id, voted.epoch), key)
            assert before == key, f"node {node.me.id} voted twice in epoch {voted.epoch}"
        while store.judged < len(store.batches):
            batch = store.batches[store.judged]
            if batch.end_offset > node.high_watermark:
                break
            store.judged += 1
            for at, record in zip(
                range(batch.base_offset, batch.end_offset), read_records(batch.data), strict=True
            ):
                said = (batch.epoch, record.value or b"")
                if at < len(self.committed):
                    assert self.committed[at] == said, f"{at} was committed as something else"
                else:
                    assert at == len(self.committed)
                    self.committed.append(said)


class Quorum:
    """`voters` nodes that vote and `observers` that only follow, ids from 1."""

    def __init__(self, seed: int, *, voters: int, observers: int = 0) -> None:
        self.chance = Random(seed)
        self.now = 0
        self.ids = range(1, voters + observers + 1)
        self._static = VoterSet.static({n: Address("node", n) for n in range(1, voters + 1)})
        self.stores = {n: Store() for n in self.ids}
        self.nodes: dict[int, RaftNode] = {}
        self.ledger = Ledger()
        self.loss = 0.0
        self.longest_delay = 20
        self.cuts: set[tuple[int, int]] = set()
        self.paused: set[int] = set()
        self._lives = dict.fromkeys(self.ids, 0)
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._parked: dict[int, list[tuple[Send, int, Callable[[FetchAnswer], None]]]] = {}
        self.proposed = 0
        for node_id in self.ids:
            self.start(node_id)

    # Faults

    def start(self, node_id: int) -> None:
        store = self.stores[node_id]
        self._lives[node_id] += 1
        node = self.nodes[node_id] = RaftNode(
            ReplicaKey(node_id),
            state=parse(store.election),
            log=store,
            log_end=store.end,
            history=VoterHistory(self._static),
            draw=self.chance.randrange,
            stamp=lambda: self.now,
            address=Address("node", node_id),
        )
        self._parked[node_id] = []
        self._do(node_id, node.start(self.now))

    def crash(self, node_id: int) -> None:
        self._lives[node_id] += 1
        self.nodes.pop(node_id, None)
        self.stores[node_id].crash(self.chance)

    @property
    def leader(self) -> RaftNode | None:
        """The one of the newest epoch."""
        found = [each for each in self.nodes.values() if each.role is Role.LEADER]
        return max(found, key=lambda each: each.epoch, default=None)

    def propose(self, node: RaftNode, size: int = 1) -> None:
        values = [b"%d" % (self.proposed + i) for i in range(size)]
        self.proposed += size
        self._do(node.me.id, node.propose(values))

    # Time

    def run(self, until: int) -> None:
        while self._events and self._events[0][0] <= until:
            self.now, _, event = heapq.heappop(self._events)
            event()
        self.now = until

    def _later(self, delay: int, node_id: int, event: Callable[[], None]) -> None:
        """Nothing happens to a node that has crashed since; to a paused one it happens later."""
        life = self._lives[node_id]

        def happen() -> None:
            if self._lives[node_id] != life or node_id not in self.nodes:
                return
            if node_id in self.paused:
                self._later(100, node_id, event)
            else:
                event()

        heapq.heappush(self._events, (self.now + delay, next(self._order), happen))

    # What a shell does

    def _do(self, node_id: int, ready: Ready) -> None:
        node, store = self.nodes[node_id], self.stores[node_id]
        if ready.persist is not None:
            store.election = dump(ready.persist)
        if ready.truncate_to is not None:
            store.truncate(ready.truncate_to)
        for batch in ready.append:
            assert batch.base_offset == store.end.offset == read_header(batch.data).base_offset
            store.batches.append(batch)
        if ready.append:
            self._later(self.chance.randint(1, 10), node_id, lambda: self._sync(node_id))
        if ready.snapshot is not None:
            self._take_piece(node_id, ready.snapshot)
        for send in ready.send:
            self._send(node_id, send)
        self.ledger.look(node, store)
        self._answer_parked(node_id)
        self._alarm(node_id)

    def snapshot(self, node_id: int) -> None:
        """As a node takes one now and then; it may drop what is older."""
        store = self.stores[node_id]
        store.take_snapshot(self.nodes[node_id].high_watermark)
        if self.chance.random() < 0.7:
            store.clean()

    def _take_piece(self, node_id: int, piece: SnapshotAnswer) -> None:
        store, node = self.stores[node_id], self.nodes[node_id]
        assert node.role is not Role.LEADER
        store.part = store.part[: piece.position] + bytes(piece.data)
        if len(store.part) < piece.size:
            self._do(node_id, node.snapshot_written(self.now))
            return
        state = literal_eval(store.part.decode())
        delay = self.chance.choice([1, 50, 5_000])
        self._later(delay, node_id, lambda: self._load(node_id, piece.snapshot, state))

    def _load(self, node_id: int, at: OffsetAndEpoch, state: list[tuple[int, bytes]]) -> None:
        assert state == self.ledger.committed[: at.offset], "a snapshot says something else"
        if not self.nodes[node_id].is_loading(at):
            return
        self.stores[node_id].begin_at(at, state)
        self._do(node_id, self.nodes[node_id].snapshot_loaded(at, VoterRecords(), self.now))

    def _alarm(self, node_id: int) -> None:
        node = self.nodes[node_id]
        at = node.next_wake(self.now)
        if at >= 1 << 60:
            return

        def ring() -> None:
            if node.next_wake(self.now) <= self.now or at <= self.now:
                self._do(node_id, node.wake(self.now))

        if getattr(node, "alarm", None) != at:
            node.alarm = at  # type: ignore[attr-defined]
            self._later(max(1, at - self.now), node_id, ring)

    def _sync(self, node_id: int) -> None:
        store = self.stores[node_id]
        store.synced = len(store.batches)
        self._do(node_id, self.nodes[node_id].flushed(store.end.offset, self.now))

    def _send(self, sender: int, send: Send) -> None:
        to = send.to if send.to is not None else self.chance.choice(list(self._static.ids))
        if to == sender:
            self._later(1, sender, lambda: self._hear(sender, send, None))
            return
        life = self._lives[sender]
        if self._is_lost(sender, to):
            self._later(200, sender, lambda: self._hear(sender, send, None))
        else:
            delay = self.chance.randint(1, self.longest_delay)
            self._later(delay, to, lambda: self._receive(to, sender, life, send))
            # The shell's patience with a request; an answer that comes later is dropped.
            self._later(2_000, sender, lambda: self._hear(sender, send, None))

    def _is_lost(self, sender: int, to: int) -> bool:
        return to not in self.nodes or (sender, to) in self.cuts or self.chance.random() < self.loss

    def _receive(self, node_id: int, sender: int, life: int, send: Send) -> None:
        ready = self.nodes[node_id].receive(send.request, self.now)
        answer = ready.answer
        assert answer is not None

        def reply(given: object) -> None:
            if self._lives[sender] == life and not self._is_lost(node_id, sender):
                delay = self.chance.randint(1, self.longest_delay)
                self._later(delay, sender, lambda: self._hear(sender, send, given))

        self._do(node_id, ready)
        if isinstance(answer, FetchAnswer) and answer.error is ErrorCode.NONE:
            assert isinstance(send.request, Fetch)
            deadline = self.now + _FETCH_WAIT_MS
            self._parked[node_id].append((send, deadline, reply))
            self._later(_FETCH_WAIT_MS, node_id, lambda: self._answer_parked(node_id))
            self._answer_parked(node_id)
        elif isinstance(answer, SnapshotAnswer) and answer.error is ErrorCode.NONE:
            reply(self._piece(node_id, answer))
        else:
            reply(answer)

    def _piece(self, node_id: int, answer: SnapshotAnswer) -> SnapshotAnswer:
        state = self.stores[node_id].snapshots.get(answer.snapshot)
        if state is None:
            return replace(answer, error=ErrorCode.SNAPSHOT_NOT_FOUND)
        data = repr(state).encode()
        piece = data[answer.position : answer.position + _SNAPSHOT_PIECE]
        return replace(answer, data=piece, size=len(data))

    def _answer_parked(self, node_id: int) -> None:
        parked, self._parked[node_id] = self._parked[node_id], []
        node, store = self.nodes[node_id], self.stores[node_id]
        for send, deadline, reply in parked:
            fetch = send.request
            assert isinstance(fetch, Fetch)
            answer = node.look(fetch)
            if answer.error is ErrorCode.NONE and answer.diverging is answer.snapshot is None:
                records = store.read(fetch.log_end.offset)
                is_news = records or answer.high_watermark > fetch.high_watermark
                if not is_news and self.now < deadline:
                    self._parked[node_id].append((send, deadline, reply))
                    continue
                answer = FetchAnswer(
                    epoch=answer.epoch,
                    leader_id=answer.leader_id,
                    leader_address=answer.leader_address,
                    high_watermark=answer.high_watermark,
                    records=records,
                )
            reply(answer)

    def _hear(self, node_id: int, send: Send, answer: object) -> None:
        node = self.nodes[node_id]
        heard = getattr(node, "heard", None)
        if heard is None:
            heard = node.heard = []  # type: ignore[attr-defined]
        if any(send is each for each in heard):
            return
        heard.append(send)
        del heard[:-64]
        self._do(node_id, node.hear(send, answer, self.now))  # type: ignore[arg-type]
