"""RaftNode: one node of the metadata quorum, without any I/O.

Calls go in, Ready comes out: what the shell must do, and in which order. It knows neither what the records mean nor
where they are stored. Voters elect (KIP-595, with the pre-vote of KIP-996) and pull the log from the leader; an observer
only pulls. `now` is monotonic time, which only ever decides how long to wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from klamm.base.clock import Ms
from klamm.base.errors import ErrorCode
from klamm.base.ids import OffsetAndEpoch
from klamm.protocol.messages.control import KRaftVersionRecord
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.control import ControlMessage
from klamm.protocol.records.reader import Record
from klamm.raft import leadership, requests
from klamm.raft.due import due, next_wake, role_deadline
from klamm.raft.election_state import ElectionState
from klamm.raft.epoch import Epoch
from klamm.raft.messages import (
    Address,
    Answer,
    Batch,
    BeginEpoch,
    EndEpoch,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    Ready,
    ReplicaKey,
    Request,
    Send,
    SnapshotAnswer,
    UpdateVoter,
    Vote,
    VoteAnswer,
)
from klamm.raft.replica import Replica
from klamm.raft.roles import (
    Follower,
    Leader,
    Resigned,
    Role,
    RoleState,
    Unattached,
    Voting,
    step,
)
from klamm.raft.rules import RaftLog, is_majority, majority
from klamm.raft.timing import Outgoing, QuorumTiming
from klamm.raft.voters import VoterHistory, VoterRecords, VoterSet


class NotLeader(Exception):
    """Only the leader of the quorum may add to its log."""


class RaftNode:
    def __init__(
        self,
        me: ReplicaKey,
        *,
        state: ElectionState,
        log: RaftLog,
        log_end: OffsetAndEpoch,
        history: VoterHistory,
        draw: Callable[[int], int],
        stamp: Callable[[], Ms],
        timing: QuorumTiming | None = None,
        address: Address | None = None,
    ) -> None:
        """log_end: the end offset of the log and the epoch of its last batch (0 if it is empty).

        draw: a random number below the one given. stamp: the time that is written into the log.
        address: where others find this node.
        """
        self.me = me
        self.address = address
        self.role = Role.UNATTACHED
        self.state: RoleState = Unattached(0)
        self.known = Epoch(state, log_end)
        self.replica = Replica(log, log_end, history)
        self._draw = draw
        self._stamp = stamp
        self.timing = timing or QuorumTiming()
        self._outgoing = Outgoing(self.timing.retry_backoff)
        self._ready = Ready()

    # What others may know

    @property
    def epoch(self) -> int:
        return self.known.number

    @property
    def leader_id(self) -> int | None:
        return self.known.leader_id

    @property
    def voters(self) -> VoterSet:
        return self.replica.history.voters

    @property
    def is_voter(self) -> bool:
        return self.voters.has(self.me)

    @property
    def is_leader(self) -> bool:
        return self.role is Role.LEADER

    @property
    def end_offset(self) -> int:
        return self.replica.end.offset

    @property
    def high_watermark(self) -> int:
        return self.replica.high_watermark

    # What the shell calls

    def start(self, now: Ms) -> Ready:
        """Take up the role that was left. The lone voter needs nobody's consent and leads a new epoch at once.

        Never the old epoch again, even if this node led it: unflushed records of it may be gone, and an offset
        must never name two different records in one epoch.
        """
        if self.is_voter and self.voters.ids == {self.me.id}:
            self.known.leader_id = None
            self._stand(now)
        elif self.leader_id == self.me.id:
            # The others may still wait for it: they need not.
            self.role = Role.RESIGNED
            others = self.voters.others(self.me.id)
            preferred = tuple(each.key for each in others)
            unaware = {each.id for each in others}
            self.state = Resigned(now + self.election_delay(), preferred, unaware)
        elif self.leader_id is not None:
            self._follow(self.leader_id, self.epoch, None, now)
        else:
            # Soon: if there is a leader it is found before, and whoever hears it denies the pre-vote.
            soon = self.timing.first_election
            self.state = Unattached(now + soon // 2 + self._draw(max(1, soon)))
        return self._done(now)

    def wake(self, now: Ms) -> Ready:
        """Some of what was waited for did not come in time."""
        if now >= role_deadline(self):
            self._time_out(now)
        return self._done(now)

    def next_wake(self, now: Ms) -> Ms:
        return min(next_wake(self, now), self._outgoing.next_wake(now))

    def receive(self, request: Request, now: Ms) -> Ready:
        """Another node asks something; Ready has the answer. A fetch that finds nothing new may be asked again later."""
        match request:
            case Vote():
                self._ready.answer = requests.vote(self, request, now)
            case BeginEpoch():
                self._ready.answer = requests.begin_epoch(self, request, now)
            case EndEpoch():
                self._ready.answer = requests.end_epoch(self, request, now)
            case Fetch():
                self._ready.answer = requests.fetch(self, request, now)
            case FetchSnapshot():
                self._ready.answer = requests.fetch_snapshot(self, request, now)
            case UpdateVoter():
                # It needs an answer that comes later: membership.py and the shell see to it.
                self._ready.answer = self.known.answer(ErrorCode.INVALID_REQUEST)
        return self._done(now)

    def look(self, fetch: Fetch) -> FetchAnswer:
        """What a fetch would be answered now. Changes nothing: one that waits is not heard again each time it is looked at."""
        return requests.look(self, fetch)

    def hear(self, sent: Send, answer: Answer | None, now: Ms) -> Ready:
        """The answer to what this node sent; None if there was none."""
        has_failed = answer is None or answer.error is not ErrorCode.NONE
        self._outgoing.ended(sent, now, has_failed=has_failed)
        if answer is not None and self._heed(answer, now) and sent.request.epoch == self.epoch:
            match sent.request, answer:
                case Vote() as vote, VoteAnswer():
                    self._count(vote, sent.to, answer, now)
                case Fetch(log_end=asked), FetchAnswer() if asked == self.replica.end:
                    self._fetched(answer, now)
                case FetchSnapshot(), SnapshotAnswer():
                    self._fetched_snapshot(answer, now)
                case EndEpoch(), _:
                    if isinstance(self.state, Resigned) and sent.to is not None:
                        self.state.unaware.discard(sent.to)
        return self._done(now)

    def unreachable(self, node_id: int, now: Ms) -> Ready:
        """Its connection closed and another is refused: that process is gone, nobody need wait for its silence."""
        state = self.state
        if isinstance(state, Follower) and state.leader_id == node_id:
            state.has_fetched = False
            state.timeout_at = min(state.timeout_at, now + self._draw(requests.SUCCESSION_MS))
        elif isinstance(state, Voting) and node_id in self.voters.ids:
            # It cannot vote: whoever waits for it may lose a second on a split vote.
            state.hear(node_id, is_granted=False)
            self._pause_if_lost(state, now)
        return self._done(now)

    def propose(self, values: Sequence[bytes]) -> Ready:
        """Add records to the log as one batch: after a crash either all of them are there or none."""
        self._must_lead()
        at = self._stamp()
        data = build_batch(
            [Record(timestamp=at, value=value) for value in values],
            base_offset=self.end_offset,
            leader_epoch=self.epoch,
        )
        batch = self.replica.append(data, len(values), epoch=self.epoch, timestamp=at)
        self._ready.append.append(batch)
        return self._take_ready()

    def change_voters(self, voters: VoterSet) -> Ready:
        """They vote from now on, and what was not committed yet needs a majority of them (membership.py says who may)."""
        self._must_lead()
        self._append_control([voters.to_record()])
        return self._take_ready()

    def move_voters_into_log(self, voters: VoterSet) -> Ready:
        """Until now they stood in the settings: kraft.version becomes 1, for good."""
        self._must_lead()
        self._append_control([KRaftVersionRecord(kraft_version=1), voters.to_record()])
        return self._take_ready()

    def flushed(self, end_offset: int, now: Ms) -> Ready:
        """This node's disk holds the log up to end_offset."""
        self.replica.flushed(end_offset)
        if isinstance(self.state, Leader):
            self.state.flushed = self.replica.flushed_end
            self.commit(now)
        else:
            self.replica.follow_high_watermark()
        return self._done(now)

    def withdraw(self, batch: Batch) -> None:
        self.replica.withdraw(batch)

    def snapshot_written(self, now: Ms) -> Ready:
        """The piece is in its file: the next one may come."""
        if isinstance(self.state, Follower):
            self.state.is_writing = False
        return self._done(now)

    def snapshot_refused(self, now: Ms) -> Ready:
        """What came is no snapshot: the next fetch tells again which one to load."""
        if isinstance(self.state, Follower):
            self.state.snapshot = None
            self.state.timeout_at = now + self.timing.fetch_timeout
        return self._done(now)

    def is_loading(self, snapshot: OffsetAndEpoch) -> bool:
        """Whether it is still wanted. A new leader may have more use for the log that is here, which has grown since."""
        state = self.state
        return isinstance(state, Follower) and state.is_loading and state.snapshot == snapshot

    def snapshot_loaded(self, snapshot: OffsetAndEpoch, records: VoterRecords, now: Ms) -> Ready:
        """It is on disk, and the log is empty and begins behind it."""
        self.replica.restart(snapshot, records)
        if isinstance(self.state, Follower):
            self.state.snapshot = None
            self.state.timeout_at = now + self.timing.fetch_timeout
        return self._done(now)

    def resign(self, now: Ms) -> Ready:
        """Lead no more, and tell the others so that they need not find out."""
        self._resign(now)
        return self._done(now)

    # Answers

    def _heed(self, answer: Answer, now: Ms) -> bool:
        """What an answer tells about epoch and leader; whether it is still about anything."""
        if answer.epoch < self.epoch:
            return False
        leader_id = answer.leader_id
        if leader_id is not None and leader_id != self.me.id:
            if answer.epoch > self.epoch or self.leader_id is None:
                self._follow(leader_id, answer.epoch, answer.leader_address, now)
                return False
            if leader_id == self.leader_id and answer.leader_address is not None:
                self.known.leader_address = answer.leader_address
        elif answer.epoch > self.epoch:
            self.detach(answer.epoch, now)
            return False
        return True

    def _count(self, vote: Vote, voter: int | None, answer: VoteAnswer, now: Ms) -> None:
        expected = Role.PROSPECTIVE if vote.is_pre_vote else Role.CANDIDATE
        if self.role is not expected or answer.error is not ErrorCode.NONE or voter is None:
            return
        assert isinstance(self.state, Voting)
        self.state.hear(voter, is_granted=answer.is_granted)
        if is_majority(self.state.granted, self.voters.ids):
            self._win(now)
        else:
            self._pause_if_lost(self.state, now)

    def _pause_if_lost(self, voting: Voting, now: Ms) -> None:
        """Try again soon, at another time than those who lost with us."""
        ids = self.voters.ids
        if len(ids - voting.rejected) < majority(len(ids)):
            pause = self._draw(max(1, self.timing.election_backoff_max))
            voting.ends_at = min(voting.ends_at, now + pause)

    def _fetched(self, answer: FetchAnswer, now: Ms) -> None:
        state = self.state
        if not isinstance(state, Follower) or answer.error is not ErrorCode.NONE:
            return
        if answer.diverging is not None:
            self._ready.truncate_to = self.replica.truncate(answer.diverging)
        elif answer.snapshot is not None:
            state.snapshot, state.position, state.size = answer.snapshot, 0, -1
            state.is_writing = False
        else:
            # Whoever sends what cannot be read has not been heard.
            if answer.records:
                self._ready.append += self.replica.append_fetched(answer.records)
            self.replica.hear_high_watermark(answer.high_watermark)
        state.timeout_at = now + self.timing.fetch_timeout
        state.has_fetched = True

    def _fetched_snapshot(self, answer: SnapshotAnswer, now: Ms) -> None:
        state = self.state
        if not isinstance(state, Follower):
            return
        if answer.error is not ErrorCode.NONE or answer.position != state.position:
            # Gone, or confused: the next fetch tells which snapshot there is now.
            state.snapshot = None
            return
        state.timeout_at = now + self.timing.fetch_timeout
        state.position += len(answer.data)
        state.size = answer.size
        state.is_writing = True
        self._ready.snapshot = answer

    # Roles

    def become(self, role: Role, state: RoleState) -> None:
        self.role = step(self.role, role) if role is not self.role else role
        self.state = state

    def detach(self, epoch: int, now: Ms) -> None:
        """A newer epoch, whose leader is not known yet."""
        self._enter(epoch)
        self.become(Role.UNATTACHED, Unattached(now + self.election_delay()))

    def _enter(self, epoch: int, leader_id: int | None = None, at: Address | None = None) -> None:
        self.known.enter(epoch, leader_id, at)
        self.replica.forget_leader()
        self.persist()

    def follow_if_new(self, leader_id: int, epoch: int, address: Address | None, now: Ms) -> None:
        if epoch > self.epoch or self.leader_id is None:
            self._follow(leader_id, epoch, address, now)
        elif address is not None:
            self.known.leader_address = address

    def _follow(self, leader_id: int, epoch: int, address: Address | None, now: Ms) -> None:
        self._enter(epoch, leader_id, address)
        self.become(Role.FOLLOWER, Follower(leader_id, now + self.timing.fetch_timeout))

    def _stand(self, now: Ms) -> None:
        ends_at = now + self.election_delay()
        self.become(Role.PROSPECTIVE, Voting(ends_at, {self.me.id}))
        if is_majority({self.me.id}, self.voters.ids):
            self._win(now)

    def _win(self, now: Ms) -> None:
        """More than half would vote for this node, or have."""
        if self.role is Role.PROSPECTIVE:
            self._enter(self.epoch + 1)
            self.known.voted = self.me
            self.persist()
            self.become(Role.CANDIDATE, Voting(now + self.election_delay(), {self.me.id}))
            if not is_majority({self.me.id}, self.voters.ids):
                return
        self._lead(now)

    def _lead(self, now: Ms) -> None:
        assert isinstance(self.state, Voting)
        granting = self.state.granted
        self.become(Role.LEADER, Leader(self.end_offset, now, self.replica.flushed_end))
        self._enter(self.epoch, self.me.id, self.address)
        opening: list[ControlMessage] = [leadership.leader_change(self.me, self.voters, granting)]
        if self.end_offset == 0:
            # The voters that a new cluster was formatted with become part of its log.
            opening += self.replica.history.records.messages
        self._append_control(opening)

    def _time_out(self, now: Ms) -> None:
        match self.state:
            case Unattached():
                self._stand(now)
            case Follower():
                # The leader's epoch is not over, so its log is still the one to be compared with.
                self._stand(now)
            case Voting():
                if self.role is Role.CANDIDATE:
                    self._stand(now)
                else:
                    self._give_up(now)
            case Leader():
                self._resign(now)
            case Resigned():
                self.detach(self.epoch + 1, now)

    def _give_up(self, now: Ms) -> None:
        """Too few would vote for this node: perhaps they hear a leader, and it will, too, or somebody tells who it is."""
        again_at = now + self._draw(max(1, self.timing.election_backoff_max))
        if self.leader_id is not None:
            self.become(Role.FOLLOWER, Follower(self.leader_id, again_at))
        else:
            self.become(Role.UNATTACHED, Unattached(again_at))

    def _resign(self, now: Ms) -> None:
        assert isinstance(self.state, Leader)
        others = self.voters.others(self.me.id)
        preferred = leadership.successors(self.state, others)
        unaware = {each.id for each in others}
        self.become(Role.RESIGNED, Resigned(now + self.election_delay(), preferred, unaware))

    def election_delay(self) -> Ms:
        timeout = self.timing.election_timeout
        return timeout + self._draw(max(1, timeout))

    def _must_lead(self) -> None:
        if not self.is_leader:
            raise NotLeader(f"node {self.me.id} is {self.role.value}")

    # The log

    def _append_control(self, messages: Sequence[ControlMessage]) -> None:
        batch = self.replica.append_control(messages, epoch=self.epoch, timestamp=self._stamp())
        self._ready.append.append(batch)

    def commit(self, now: Ms) -> None:
        assert isinstance(self.state, Leader)
        self.replica.high_watermark = leadership.high_watermark(
            self.state, self.me, self.voters, current=self.high_watermark
        )
        if not self.is_voter and self.replica.history.changed_at < self.high_watermark:
            # It has led until its own removal was safe.
            self._resign(now)

    # What goes out

    def persist(self) -> None:
        self._ready.persist = self.known.to_state(self.replica.history)

    def _done(self, now: Ms) -> Ready:
        self._send_due(now)
        return self._take_ready()

    def _take_ready(self) -> Ready:
        ready, self._ready = self._ready, Ready()
        return ready

    def _send_due(self, now: Ms) -> None:
        for to, request in due(self, now):
            if not self._send(to, request, now):
                continue
            match request, self.state:
                case BeginEpoch(), Leader() as leader if to is not None:
                    leader.begun_at[to] = now
                case UpdateVoter(), Follower() as follower:
                    follower.tell_at = now + self.timing.fetch_timeout

    def _send(self, to: int | None, request: Request, now: Ms) -> bool:
        if not self._outgoing.may_send(to, type(request), now):
            return False
        send = Send(to, self._address_of(to), request)
        self._outgoing.sent(send)
        self._ready.send.append(send)
        return True

    def _address_of(self, node_id: int | None) -> Address | None:
        if node_id is None:
            return None
        if node_id == self.leader_id and self.known.leader_address is not None:
            return self.known.leader_address
        voter = self.voters.find(node_id)
        return voter.address if voter else None

    def check_invariants(self) -> None:
        replica = self.replica
        assert replica.high_watermark <= replica.end.offset
        assert replica.flushed_end <= replica.end.offset
        assert replica.end.epoch <= self.epoch
        assert (self.role is Role.LEADER) == (self.leader_id == self.me.id) or (
            self.role is Role.RESIGNED
        )
