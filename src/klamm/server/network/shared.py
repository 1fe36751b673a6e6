"""What all listeners of a node share: the limits, the count of connections, and the memory they may hold."""

from __future__ import annotations

import logging

from klamm.server.network.admission import Admission
from klamm.server.network.budget import Budget
from klamm.server.network.buffers import ReceiveBuffers
from klamm.server.network.busy_poll import BusyPoll
from klamm.server.network.complaints import Complaints
from klamm.server.network.limits import Limits
from klamm.server.network.long_answer import Outbox
from klamm.server.world.ports import Turns


class Shared:
    __slots__ = ("admission", "budget", "buffers", "busy_poll", "complaints", "limits", "outbox")

    def __init__(self, limits: Limits, turns: Turns) -> None:
        self.limits = limits
        self.admission = Admission(limits)
        self.buffers = ReceiveBuffers()
        self.complaints = Complaints(logging.getLogger(__package__))
        self.budget = Budget(limits, self.buffers, self.complaints)
        self.outbox = Outbox()
        self.busy_poll = BusyPoll(limits.busy_poll_seconds, turns.time)

    def close(self) -> None:
        self.budget.close()
