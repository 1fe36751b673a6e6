"""FetchSnapshot on a controller's listener: the file as it is, piece by piece."""

from dataclasses import replace

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.ids import OffsetAndEpoch
from klamm.metadata import snapshot
from klamm.raft.messages import FetchSnapshot, ReplicaKey
from klamm.server.quorum.requests import Terms, to_wire
from server.running_node import RunningNode
from server.wire_client import WireClient

NOWHERE = FetchSnapshot(ReplicaKey(9), 1, OffsetAndEpoch(1 << 40, 1), 0)


def ask(
    fetch: FetchSnapshot, controller: WireClient, node: RunningNode, *, max_bytes: int = 1 << 20
) -> object:
    terms = Terms(
        cluster_id=node.node.ready.cluster_id, listener="CONTROLLER", snapshot_max_bytes=max_bytes
    )
    answer = controller.ask(to_wire(fetch, terms))
    assert answer.error_code == ErrorCode.NONE
    (partition,) = answer.topics[0].partitions
    return partition


def test_its_pieces_are_the_file(controller: WireClient, controller_node: RunningNode) -> None:
    quorum = controller_node.node.quorum
    controller_node.run(quorum._follower.snapshot())
    at = controller_node.call(lambda: quorum._store.newest_snapshot)
    data, size = b"", -1
    while len(data) != size:
        fetch = FetchSnapshot(ReplicaKey(9), 1, at, len(data))
        piece = ask(fetch, controller, controller_node, max_bytes=100)
        assert piece.position == len(data)
        assert 0 < len(piece.unaligned_records) <= 100
        data += piece.unaligned_records
        size = piece.size

    image = snapshot.read(data, at, cluster_id="")
    assert image.features


@pytest.mark.parametrize(
    ("fetch", "error"),
    [
        (NOWHERE, ErrorCode.SNAPSHOT_NOT_FOUND),
        (replace(NOWHERE, epoch=0), ErrorCode.FENCED_LEADER_EPOCH),
        (replace(NOWHERE, epoch=2), ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_what_is_not_there_cannot_be_fetched(
    controller: WireClient, controller_node: RunningNode, fetch: FetchSnapshot, error: ErrorCode
) -> None:
    piece = ask(fetch, controller, controller_node)

    assert piece.error_code == error
    assert (piece.current_leader.leader_id, piece.current_leader.leader_epoch) == (1, 1)


def test_another_cluster_is_refused(controller: WireClient) -> None:
    request = to_wire(NOWHERE, Terms(cluster_id="another", listener="CONTROLLER"))

    assert controller.ask(request).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
