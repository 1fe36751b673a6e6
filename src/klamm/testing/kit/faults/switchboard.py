"""Between connections and the broker, while there are faults: what is asked is held against the rules first.

Without faults it is not there: connections have the broker's own dispatch.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from klamm.base.errors import CorruptFrame
from klamm.server.broker import Broker
from klamm.server.network.connection import Connection, Dispatch
from klamm.server.network.outgoing import Answer
from klamm.server.network.pending import PARKED, Parked
from klamm.testing.kit.client import CLIENT_ID
from klamm.testing.kit.faults.capture import ask
from klamm.testing.kit.faults.frames import Frame, group_of, partitions_in
from klamm.testing.kit.faults.refusals import can_refuse, in_session, refuse, wants
from klamm.testing.kit.faults.rules import ON_DISK, Action, Armed, Rule

# Hears which request of a connection was hit, and by what.
Struck = Callable[[Connection, int, str], None]
# The kit itself, and other brokers: a fault that should hit them names them.
_SPARED = re.compile(rf"{CLIENT_ID}|broker-\d+.*")


class Diversion:
    """In the place of a connection's dispatch."""

    __slots__ = ("_switchboard", "dispatch")

    def __init__(self, switchboard: Switchboard, dispatch: Dispatch) -> None:
        self._switchboard = switchboard
        self.dispatch = dispatch

    def __call__(self, connection: Connection, frame: memoryview) -> Answer | Parked | None:
        return self._switchboard.handle(self.dispatch, connection, frame)


class Switchboard:
    def __init__(self, broker: Callable[[], Broker], struck: Struck) -> None:
        self._broker = broker
        self._struck = struck
        self._faults: list[Armed] = []
        # Of clients.
        self._connections: dict[Connection, None] = {}

    # What the network tells.

    def opened(self, connection: Connection) -> None:
        if not connection.listener.is_controller:
            self._connections[connection] = None

    def asks(self, connection: Connection) -> None:
        """Before its frames are handled: since the last ones it may have logged in, which changes its dispatch."""
        if self._faults and connection in self._connections:
            self._divert(connection)

    def closed(self, connection: Connection) -> None:
        self._connections.pop(connection, None)

    # What the test asks for.

    def add(self, armed: Armed) -> None:
        rule = armed.rule
        assert rule.action not in ON_DISK
        self._check(rule)
        self._faults.append(armed)
        for connection in self._connections:
            self._divert(connection)

    def remove(self, armed: Armed) -> None:
        if armed in self._faults:
            self._faults.remove(armed)
        if not self._faults:
            for connection in self._connections:
                if isinstance(connection.dispatch, Diversion):
                    connection.dispatch = connection.dispatch.dispatch

    def _check(self, rule: Rule) -> None:
        served = {each.name: each for each in self._broker().apis.values()}
        if rule.api is None:
            return
        if rule.api not in served:
            raise ValueError(f"a broker does not serve {rule.api} to clients")
        api = served[rule.api]
        if rule.action is Action.ERROR and not can_refuse(api):
            raise ValueError(f"{api.api.title} has no place for an error; use disconnect")
        if rule.action is Action.THROTTLE and not hasattr(api.api.response(), "throttle_time_ms"):
            raise ValueError(f"{api.api.title} has no throttle time")

    def _divert(self, connection: Connection) -> None:
        if not isinstance(connection.dispatch, Diversion):
            connection.dispatch = Diversion(self, connection.dispatch)

    # Requests.

    def handle(
        self, dispatch: Dispatch, connection: Connection, data: memoryview
    ) -> Answer | Parked | None:
        api = self._broker().apis.get(int.from_bytes(data[:2], "big", signed=True))
        faults = [
            each
            for each in self._faults
            if not each.is_spent and api is not None and each.rule.api in (None, api.name)
        ]
        if api is None or not faults or len(data) < 10:
            return dispatch(connection, data)
        frame = Frame.read(api, data)
        fault = None if frame is None else self._first(faults, frame)
        if frame is None or fault is None:
            return dispatch(connection, data)
        fault.count += 1
        self._struck(connection, frame.correlation_id, str(fault.rule))
        return self._strike(fault.rule, frame, dispatch, connection, memoryview(bytearray(data)))

    def _first(self, faults: list[Armed], frame: Frame) -> Armed | None:
        return next((each for each in faults if self._is_meant(each.rule, frame)), None)

    def _is_meant(self, rule: Rule, frame: Frame) -> bool:
        if rule.client_id is None:
            if frame.client_id is not None and _SPARED.fullmatch(frame.client_id):
                return False
        elif rule.client_id != frame.client_id:
            return False
        if rule.group is not None and group_of(frame.request) != rule.group:
            return False
        if rule.topic is None and rule.partition is None:
            return True
        named = list(partitions_in(frame.request, self._broker().image))
        named += [each for each, _ in in_session(frame, self._broker())]
        return any(map(wants(rule), named))

    def _strike(
        self,
        rule: Rule,
        frame: Frame,
        dispatch: Dispatch,
        connection: Connection,
        data: memoryview,
    ) -> Answer | Parked | None:
        match rule.action:
            case Action.ERROR:
                self._refuse(rule, frame, dispatch, connection)
            case Action.THROTTLE:
                ask(
                    dispatch,
                    connection,
                    data,
                    lambda answer: _throttle(rule, frame, connection, answer),
                )
            case Action.DELAY:
                asyncio.get_running_loop().call_later(
                    rule.seconds, self._go_on, dispatch, connection, data
                )
            case Action.DROP if rule.after:
                ask(dispatch, connection, data, lambda _: None)
            case Action.DISCONNECT if rule.after:
                ask(dispatch, connection, data, lambda _: connection.close())
            case Action.DISCONNECT:
                connection.close()
        return PARKED

    def _go_on(self, dispatch: Dispatch, connection: Connection, data: memoryview) -> None:
        try:
            ask(dispatch, connection, data, connection.finish)
        except CorruptFrame as e:
            connection.refuse(str(e))

    def _refuse(self, rule: Rule, frame: Frame, dispatch: Dispatch, connection: Connection) -> None:
        refusal = refuse(frame, rule, self._broker())
        is_unanswered = getattr(frame.request, "acks", None) == 0

        def complete(answer: Answer | None) -> None:
            if is_unanswered:
                # Kafka has no other way to say it.
                connection.close()
                return
            told = frame.api.api.response() if answer is None else frame.read_answer(answer)
            later(frame.answer(refusal.complete(told)) if told is not None else answer)

        def later(answer: Answer | None) -> None:
            """Behind the dispatch that we are in: the connection is told then that it waits."""
            asyncio.get_running_loop().call_soon(connection.finish, answer)

        if refusal.rest is None:
            complete(None)
        else:
            ask(dispatch, connection, frame.with_request(refusal.rest), complete)


def _throttle(rule: Rule, frame: Frame, connection: Connection, answer: Answer | None) -> None:
    told = None if answer is None else frame.read_answer(answer)
    if told is not None:
        told.throttle_time_ms = int(rule.seconds * 1000)
        answer = frame.answer(told)
    asyncio.get_running_loop().call_soon(connection.finish, answer)
