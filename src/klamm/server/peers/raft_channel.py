"""QuorumChannel: the way to the other nodes of the metadata quorum, in Kafka's messages.

Two connections to each: a fetch may wait at the leader for half a second, and nothing else may wait behind it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from klamm.base.clock import Ms
from klamm.base.errors import ErrorCode
from klamm.raft.messages import Address, Answer, Fetch, FetchSnapshot, Send, Vote
from klamm.server.peers.channel import PeerChannel
from klamm.server.peers.way import Way
from klamm.server.quorum import answers, requests
from klamm.server.quorum.requests import Terms
from klamm.server.world.ports import World

log = logging.getLogger(__name__)

_NAMES = {code.value: code.name for code in ErrorCode}

# The first version of Vote that can say that it is only asked whether the vote would be given: an older one would bind
# whoever gives it.
_PRE_VOTE_VERSION = 2


class QuorumChannel:
    """Implements RaftChannel. `on_unreachable` hears of nodes whose process is gone."""

    def __init__(
        self,
        world: World,
        terms: Terms,
        *,
        way: Way,
        node_id: int,
        request_timeout_ms: Ms,
        anybody: Callable[[], Sequence[Address]],
        on_unreachable: Callable[[int], None],
    ) -> None:
        self._world = world
        self._way = way
        self._terms = terms
        self._client_id = f"raft-client-{node_id}"
        self._timeout_ms = request_timeout_ms
        # Where somebody may know who leads.
        self._anybody = anybody
        self._asked = 0
        self._on_unreachable = on_unreachable
        self._channels: dict[tuple[Address, bool], PeerChannel] = {}
        # Who was last spoken to at each address.
        self._nodes: dict[Address, int] = {}
        # What the nodes at an address refuse us for; said once, until it changes.
        self._refusals: dict[Address, int] = {}

    def send(self, send: Send, heard: Callable[[Answer | None], None]) -> None:
        address = self._next() if send.to is None else send.address
        if address is None:
            # Nobody is known: that, too, is heard only after this returned.
            asyncio.get_running_loop().call_soon(heard, None)
            return
        if send.to is not None:
            self._nodes[address] = send.to
        request = send.request
        message = requests.to_wire(request, self._terms, may_wait=send.to is not None)
        is_pre_vote = isinstance(request, Vote) and request.is_pre_vote
        self._to(address, is_fetch=isinstance(request, Fetch | FetchSnapshot)).send(
            message,
            lambda response: heard(self._read(address, response)),
            version=_PRE_VOTE_VERSION if is_pre_vote else None,
            timeout_ms=self._timeout_ms,
        )

    @property
    def refusals(self) -> list[int]:
        return [error for error in self._refusals.values() if error]

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()

    def _next(self) -> Address | None:
        known = self._anybody()
        self._asked += 1
        return known[self._asked % len(known)] if known else None

    def _to(self, address: Address, *, is_fetch: bool) -> PeerChannel:
        key = (address, is_fetch)
        channel = self._channels.get(key)
        if channel is None:
            channel = PeerChannel(self._world, *address, client_id=self._client_id, way=self._way)
            channel.on_refused = lambda: self._refused(address)
            self._channels[key] = channel
        return channel

    def _refused(self, address: Address) -> None:
        # Deviation: Kafka's voters wait for the fetch timeout also where nobody can answer any more.
        if address in self._nodes:
            self._on_unreachable(self._nodes[address])

    def _read(self, address: Address, response: Any) -> Answer | None:
        if response is None:
            return None
        error = response.error_code
        if error and self._refusals.get(address) != error:
            log.error(
                "a node of the quorum refuses us: address=%s:%s reason=%s",
                *address,
                _NAMES.get(error, error),
            )
        self._refusals[address] = error
        return answers.read(response)
