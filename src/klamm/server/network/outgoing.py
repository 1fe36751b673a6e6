"""The way out of a connection: its answers, in the order of the requests, and the memory that they hold meanwhile.

Short answers are gathered and written at the end of a turn; one alone goes past the transport to the socket. A long one
stays in its files until the client takes it (long_answer.py). Produces that wait for followers stand in line (pending.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from klamm.server.network.limits import GATHER_BYTES, READ_AT_ONCE
from klamm.server.network.long_answer import AT_ONCE, LongAnswer
from klamm.server.network.pending import MOST_PENDING, PENDING_COST, Pending
from klamm.server.network.reasons import CHOKED, CLOSING, FULL, PIPELINED, SENDING
from klamm.server.network.shared import Shared
from klamm.server.world.ports import Buffer, Wire

# A tuple holds one buffer, which nearly all answers are.
Answer = tuple[Buffer] | list[Buffer] | LongAnswer


class Outgoing(asyncio.BufferedProtocol):
    __slots__ = (
        "_blocked",
        "_budget",
        "_charged",
        "_gathered",
        "_is_paused",
        "_long",
        "_moved_at",
        "_out",
        "_outbox",
        "_pending",
        "_progress",
        "_send_now",
        "_time",
        "_transport",
        "_unsent",
        "_wire",
    )

    def __init__(self, shared: Shared, wire: Wire, time: Callable[[], float]) -> None:
        self._time = time
        self._moved_at = time()
        self._budget = shared.budget
        self._outbox = shared.outbox
        self._transport: asyncio.Transport | None = None
        # For answers that go past the transport, while it has nothing to send itself.
        self._wire = wire
        self._send_now = wire.send
        self._blocked = 0
        self._is_paused = False
        # Answers: gathered small ones and their size, a long one, and what the transport could not send.
        self._out: list[Buffer] = []
        self._gathered = 0
        self._long: LongAnswer | None = None
        self._unsent = 0
        # In the order of the requests; those behind a pending one may be there already.
        self._pending: list[Pending] = []
        # What the budget has counted for this connection.
        self._charged = 0
        # How far the frame or the answer had got at `_moved_at`.
        self._progress = 0

    def abort(self, why: str) -> None:
        """Close now, whatever is left to send."""
        raise NotImplementedError

    def _unblock(self, reason: int) -> None:
        raise NotImplementedError

    def _count_unsent(self) -> None:
        """Pay for what the transport could not send."""
        raise NotImplementedError

    def send_settled(self) -> None:
        """A pending answer has come: send those in front that are complete, and read on if there is room again."""
        pending = self._pending
        while pending and not self._blocked & (SENDING | CLOSING):
            answer = pending[0].answer
            if answer is None:
                break
            del pending[0]
            self._release(PENDING_COST)
            self._emit(answer)
        if self._out:
            self._write()
        if not pending:
            self._blocked &= ~PIPELINED
        if self._blocked & FULL and len(pending) < MOST_PENDING:
            self._unblock(FULL)

    def may_answer_long(self) -> bool:
        """Whether an answer may be sent piece by piece: only so many, since they keep files open."""
        return self._outbox.has_room

    # -- answers --------------------------------------------------------------------------------------------------

    def _send(self, answer: Buffer) -> None:
        """Past the transport, which has nothing to send as long as the client is not choked; it takes what is left."""
        try:
            sent = self._send_now(answer)
        except BlockingIOError:
            sent = 0
        except OSError:
            # The transport will hear of it, too.
            return
        if sent < len(answer):
            assert self._transport is not None
            self._transport.write(memoryview(answer)[sent:])

    def _queue(self, answer: Answer) -> None:
        if self._pending:
            self._line_up(Pending(answer))
        else:
            self._emit(answer)

    def _line_up(self, pending: Pending) -> None:
        pending.connection = self
        self._pending.append(pending)
        self._charge(PENDING_COST)
        is_full = len(self._pending) >= MOST_PENDING
        self._blocked |= PIPELINED | FULL if is_full else PIPELINED

    def _emit(self, answer: Answer) -> None:
        if isinstance(answer, LongAnswer):
            self._begin_long(answer)
            return
        self._gather(answer)

    def _gather(self, answer: tuple[Buffer] | list[Buffer]) -> None:
        self._out += answer
        for part in answer:
            self._gathered += len(part)
        if self._gathered > GATHER_BYTES:
            self._write()

    def _write(self) -> None:
        out = self._out
        self._out = []
        self._gathered = 0
        transport = self._transport
        if transport is None or self._blocked & CLOSING:
            return
        if len(out) == 1:
            transport.write(out[0])
        else:
            transport.writelines(out)
        if self._blocked & CHOKED:
            self._count_unsent()

    def _begin_long(self, long: LongAnswer) -> None:
        if self._out:
            self._write()
        if not self._blocked & (CHOKED | CLOSING):
            self._send_directly(long, AT_ONCE)
        if long.is_done or self._blocked & CLOSING:
            return
        if not self.may_answer_long():
            self._write_whole(long)
            return
        self._block(SENDING)
        self._long = long
        self._outbox.count += 1
        self._charge(long.cost())
        self._outbox.send_soon(self._send_piece)

    def _write_whole(self, long: LongAnswer) -> None:
        """Read what is left of it into memory, as short answers are: it must not keep its files open."""
        try:
            while not long.is_done:
                self._out += long.take()
        except OSError as e:
            self.abort(f"its answer could not be read: {e}")
            return
        self._write()

    def _send_directly(self, long: LongAnswer, at_most: int) -> bool:
        """Past the transport, which has nothing to send as long as the client is not choked."""
        try:
            return long.send(self._wire, at_most)
        except ConnectionError:
            # The transport will hear of it, too.
            return False
        except OSError as e:
            self.abort(f"its answer could not be read: {e}")
            return False

    def _send_piece(self) -> None:
        """The next piece of a long answer; the one behind it when the client has taken this one."""
        long, transport = self._long, self._transport
        if long is None or transport is None or self._blocked & (CHOKED | CLOSING):
            return
        if not self._send_directly(long, READ_AT_ONCE) and not self._blocked & CHOKED:
            # The socket is full: the transport knows when it no longer is.
            try:
                transport.writelines(long.take())
            except OSError as e:
                self.abort(f"its answer could not be read: {e}")
        if self._blocked & CLOSING:
            return
        if long.is_done:
            self._end_long(long)
            self._unblock(SENDING)
        elif not self._blocked & CHOKED:
            self._outbox.send_soon(self._send_piece)

    def _end_long(self, long: LongAnswer) -> None:
        self._long = None
        self._outbox.count -= 1
        self._release(long.cost())

    # -- memory and flow ------------------------------------------------------------------------------------------

    def _charge(self, size: int) -> None:
        self._charged += size
        self._budget.charge(size)

    def _release(self, size: int) -> None:
        # After an abort everything has been given back already.
        size = min(size, self._charged)
        self._charged -= size
        self._budget.give_back(size)

    def _block(self, reason: int) -> None:
        self._blocked |= reason
        self._pause()

    def _pause(self) -> None:
        if not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
