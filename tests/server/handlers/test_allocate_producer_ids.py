"""AllocateProducerIds: blocks that nobody else has."""

from pathlib import Path

from klamm.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from server.handlers.controlling import a_controller


def test_each_block_begins_where_the_one_before_ended(tmp_path: Path) -> None:
    with a_controller(tmp_path) as (node, controller):
        epoch = node.call(lambda: node.node.broker.quorum.broker_epoch)
        request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch)

        first, second = controller.ask(request), controller.ask(request)

        assert second.producer_id_start == first.producer_id_start + first.producer_id_len
