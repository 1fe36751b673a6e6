"""The answer to a straight produce of which something was refused: it may say whole sentences, and who leads instead."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, cast

from klamm.base.ids import Uuid
from klamm.protocol.compile import encoder
from klamm.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from klamm.server.metadata.current_leader import tell_leaders
from klamm.server.network.connection import Connection
from klamm.server.network.outgoing import Answer, Outgoing

if TYPE_CHECKING:
    from klamm.server.broker import Broker

# Size and correlation id.
_HEADER = Struct(">ii")


def encode_refusals(
    broker: Broker,
    connection: Outgoing | None,
    correlation_id: int,
    version: int,
    topic: tuple[str, Uuid],
    answers: list[PartitionProduceResponse],
) -> Answer:
    """connection: of one that has waited; a partition that others lead takes no straight way in the first place."""
    name, topic_id = topic
    told = TopicProduceResponse(name=name, topic_id=topic_id, partition_responses=answers)
    response = ProduceResponse(responses=[told])
    if connection is not None:
        tell_leaders(response, broker, cast(Connection, connection), version)
    # No tags of the header.
    out = bytearray(_HEADER.size + 1)
    encoder(ProduceResponse, version)(response, out)
    _HEADER.pack_into(out, 0, len(out) - 4, correlation_id)
    return (out,)
