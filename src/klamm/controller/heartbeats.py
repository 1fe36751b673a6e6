"""Heartbeats: which brokers are alive, and what each may do next: wait, serve, hand over, stop.

When a broker was last heard is kept in memory alone, in monotonic time: a new active controller has heard nobody yet, and
gives everybody a whole session. Whether a broker is fenced stands in the image.
"""

from __future__ import annotations

from enum import Enum

from klamm.base.clock import Ms
from klamm.metadata.image import BrokerImage, ClusterImage

# Later than anything.
NEVER: Ms = 1 << 60


class State(Enum):
    FENCED = 0
    UNFENCED = 1
    # It hands over what it leads.
    CONTROLLED_SHUTDOWN = 2
    # It may go.
    SHUTDOWN_NOW = 3

    @property
    def is_fenced(self) -> bool:
        return self in (State.FENCED, State.SHUTDOWN_NOW)


class Session:
    __slots__ = (
        "epoch",
        "is_heard",
        "last_contact",
        "metadata_offset",
        "registered_at",
        "shutdown_offset",
    )

    def __init__(self, epoch: int, registered_at: int, now: Ms) -> None:
        self.epoch = epoch
        # The offset of the registration: who has read it has caught up.
        self.registered_at = registered_at
        self.last_contact = now
        # A session that a new controller gives to everybody says nothing of who lives.
        self.is_heard = False
        self.metadata_offset = -1
        # The last record that took leaderships from it; it may stop when the others have read that far.
        self.shutdown_offset: int | None = None


class Heartbeats:
    __slots__ = ("_sessions", "_timeout_ms")

    def __init__(self, image: ClusterImage, timeout_ms: Ms, now: Ms) -> None:
        self._timeout_ms = timeout_ms
        self._sessions = {
            each.broker_id: Session(each.epoch, each.epoch, now) for each in image.brokers.values()
        }

    def register(self, broker_id: int, epoch: int, registered_at: int, now: Ms) -> None:
        """A new incarnation, or the same one again, which keeps its epoch."""
        session = Session(epoch, registered_at, now)
        session.is_heard = True
        before = self._sessions.get(broker_id)
        if before is not None and before.epoch == epoch:
            session.shutdown_offset = before.shutdown_offset
            session.metadata_offset = before.metadata_offset
        self._sessions[broker_id] = session

    def forget(self, broker_id: int) -> None:
        self._sessions.pop(broker_id, None)

    def of(self, broker: BrokerImage, now: Ms) -> Session:
        """The session of the broker's own incarnation."""
        session = self._sessions.get(broker.broker_id)
        if session is None or session.epoch != broker.epoch:
            session = Session(broker.epoch, broker.epoch, now)
            self._sessions[broker.broker_id] = session
        return session

    def is_alive(self, broker: BrokerImage, now: Ms) -> bool:
        """It serves, and was heard in time. Who is fenced holds nothing, and may be replaced at once."""
        # Deviation: nor is a broker waited for that this controller has never heard; Kafka does, for a whole session.
        session = self._sessions.get(broker.broker_id)
        return (
            not broker.is_fenced
            and session is not None
            and session.epoch == broker.epoch
            and session.is_heard
            and now - session.last_contact <= self._timeout_ms
        )

    def first_expired(self, image: ClusterImage, now: Ms) -> int | None:
        """The unfenced broker that has been silent for longest, if it was too long."""
        at, broker_id = self._next(image)
        return broker_id if at <= now else None

    def next_expiry(self, image: ClusterImage) -> Ms:
        return self._next(image)[0]

    def _next(self, image: ClusterImage) -> tuple[Ms, int | None]:
        soonest, found = NEVER, None
        for broker in image.brokers.values():
            session = self._sessions.get(broker.broker_id)
            if session is not None and not broker.is_fenced:
                # Still alive at the very end of its session.
                end = session.last_contact + self._timeout_ms + 1
                if end < soonest:
                    soonest, found = end, broker.broker_id
        return soonest, found

    def silent_since(self, broker_id: int, at: Ms) -> None:
        session = self._sessions.get(broker_id)
        if session is not None:
            session.last_contact = min(session.last_contact, at)

    def put_off(self, ms: Ms) -> None:
        """Every session ends later."""
        for session in self._sessions.values():
            session.last_contact += ms

    def lowest_active_offset(self, image: ClusterImage) -> int:
        """How far every broker that serves has read the metadata, by its last heartbeat.

        One that lives in the controller's own process, and needs no heartbeats, reads what the controller does.
        """
        offsets = [
            session.metadata_offset
            for broker_id, session in self._sessions.items()
            if (broker := image.brokers.get(broker_id)) is not None
            and broker.is_active
            and session.shutdown_offset is None
            and session.last_contact < NEVER
        ]
        return min(offsets, default=NEVER)


def next_state(
    broker: BrokerImage,
    session: Session,
    *,
    offset: int,
    wants_fence: bool,
    wants_shutdown: bool,
    leads_any: bool,
    lowest_active_offset: int,
) -> State:
    """What a heartbeat makes of a broker; `offset` is how far it has read the metadata."""
    if broker.is_fenced:
        if wants_shutdown:
            return State.SHUTDOWN_NOW
        if not wants_fence and offset >= session.registered_at:
            return State.UNFENCED
        return State.FENCED
    if session.shutdown_offset is not None:
        have_all_seen_it = session.shutdown_offset <= lowest_active_offset
        is_done = not leads_any and have_all_seen_it
        return State.SHUTDOWN_NOW if is_done else State.CONTROLLED_SHUTDOWN
    if wants_fence:
        return State.SHUTDOWN_NOW if wants_shutdown else State.FENCED
    if wants_shutdown:
        return State.CONTROLLED_SHUTDOWN if leads_any else State.SHUTDOWN_NOW
    return State.UNFENCED
