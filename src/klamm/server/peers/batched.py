"""BatchedChannels: many small questions to other brokers, as few requests.

One request at a time goes to each broker; what comes up meanwhile goes with the next. They have channels of their own: an
answer may take as long as replication does, and nobody else is to wait behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode
from klamm.server.peers.channel import PeerChannel
from klamm.server.peers.peers import Peers

ItemT = TypeVar("ItemT")


class Kind(NamedTuple, Generic[ItemT]):
    # Two with the same key do not fit into one request.
    key_of: Callable[[ItemT], Hashable]
    # How much of a request's room it takes.
    size_of: Callable[[ItemT], int]
    request_of: Callable[[list[ItemT]], object]
    # Hears once of each request: the answer, or why there is none.
    heard: Callable[[list[ItemT], Any], None]


class BatchedChannels(Generic[ItemT]):
    def __init__(self, peers: Peers, kind: Kind[ItemT], *, most: int, timeout_ms: Ms) -> None:
        self._peers = peers
        self._kind = kind
        self._most = most
        self._timeout_ms = timeout_ms
        self._channels: dict[int, PeerChannel] = {}
        self._queues: dict[int, list[ItemT]] = {}
        # The brokers that a request is under way to, or about to be.
        self._busy: set[int] = set()
        self._is_closed = False

    def send(self, broker_id: int, item: ItemT) -> None:
        """It is heard of after this returned."""
        self._queues.setdefault(broker_id, []).append(item)
        if broker_id not in self._busy:
            self._busy.add(broker_id)
            # What comes up in the same turn goes in the same request.
            asyncio.get_running_loop().call_soon(self._send, broker_id)

    def close(self) -> None:
        self._is_closed = True
        for channel in self._channels.values():
            channel.close()

    def _send(self, broker_id: int) -> None:
        items = self._take(broker_id)
        if not items or self._is_closed:
            self._busy.discard(broker_id)
            return
        try:
            channel = self._channel(broker_id)
        except ApiError as e:
            self._heard(broker_id, items, e.code)
            return
        channel.send(
            self._kind.request_of(items),
            partial(self._heard, broker_id, items),
            timeout_ms=self._timeout_ms,
        )

    def _take(self, broker_id: int) -> list[ItemT]:
        waiting = self._queues.pop(broker_id, [])
        taken: dict[Hashable, ItemT] = {}
        room = self._most
        for at, item in enumerate(waiting):
            key, size = self._kind.key_of(item), self._kind.size_of(item)
            if key in taken or (taken and size > room):
                self._queues[broker_id] = waiting[at:]
                break
            taken[key] = item
            room -= size
        return list(taken.values())

    def _channel(self, broker_id: int) -> PeerChannel:
        address = self._peers.address_of(broker_id)
        channel = self._channels.get(broker_id)
        if channel is not None and (channel.host, channel.port) != address:
            channel.close()
            channel = None
        if channel is None:
            channel = self._channels[broker_id] = self._peers.open(broker_id)
        return channel

    def _heard(self, broker_id: int, items: list[ItemT], answer: Any) -> None:
        # Before anybody hears of it: they may have more to send.
        asyncio.get_running_loop().call_soon(self._send, broker_id)
        self._kind.heard(items, ErrorCode.NETWORK_EXCEPTION if answer is None else answer)
