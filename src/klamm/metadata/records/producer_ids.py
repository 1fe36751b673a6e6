"""Blocks of producer ids."""

from klamm.protocol.declare import Int32, Int64, message


@message(api_key=15, versions="0", flexible="0+")
class ProducerIdsRecord:
    """A broker was given a block of producer ids; the next block begins here."""

    broker_id: Int32 = 0
    broker_epoch: Int64 = -1
    next_producer_id: Int64 = 0
