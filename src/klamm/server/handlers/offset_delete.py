"""OffsetDelete (47), v0: forget some of a group's offsets. Not those of topics that its members are subscribed to."""

from __future__ import annotations

from klamm.protocol.messages.offset_delete import OffsetDeleteRequest
from klamm.server.call import Call, Message
from klamm.server.network.pending import Parked


def handle(request: OffsetDeleteRequest, call: Call) -> Message | Parked:
    return call.broker.groups.ask(
        request.group_id,
        request,
        call,
        lambda shard, token: shard.offsets.delete(request, token=token),
    )
