"""Fetch on a controller's listener: the metadata log, for whoever replicates it."""

from dataclasses import replace

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.ids import OffsetAndEpoch, Uuid
from klamm.protocol.messages.control import LeaderChangeMessage
from klamm.protocol.messages.fetch import FetchRequest
from klamm.protocol.records.batch import batches
from klamm.protocol.records.control import read_control_messages
from klamm.raft.messages import Fetch, ReplicaKey
from klamm.server.quorum.requests import Terms, to_wire
from server.running_node import RunningNode
from server.wire_client import WireClient

FROM_THE_START = Fetch(ReplicaKey(9, Uuid(bytes(range(16)))), 1, OffsetAndEpoch(0, 0))


def asked(fetch: Fetch, node: RunningNode, *, wait_ms: int = 0) -> FetchRequest:
    terms = Terms(
        cluster_id=node.node.ready.cluster_id, listener="CONTROLLER", fetch_wait_ms=wait_ms
    )
    message = to_wire(fetch, terms)
    assert isinstance(message, FetchRequest)
    return message


@pytest.mark.parametrize("version", [12, 13, 15, 17, 18])
def test_an_observer_gets_the_log_from_its_first_batch_on(
    controller: WireClient, controller_node: RunningNode, version: int
) -> None:
    answer = controller.ask(asked(FROM_THE_START, controller_node), version)

    (partition,) = answer.responses[0].partitions
    assert (answer.error_code, partition.error_code) == (0, 0)
    assert partition.high_watermark > 0
    leader = partition.current_leader
    assert (leader.leader_id, leader.leader_epoch) == (1, 1)
    _, first = next(batches(partition.records, partial_end=True))
    (opening,) = read_control_messages(first)
    assert isinstance(opening, LeaderChangeMessage)


@pytest.mark.parametrize(
    ("fetch", "error"),
    [
        (replace(FROM_THE_START, epoch=0), ErrorCode.FENCED_LEADER_EPOCH),
        (replace(FROM_THE_START, epoch=2), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (replace(FROM_THE_START, log_end=OffsetAndEpoch(0, -1)), ErrorCode.INVALID_REQUEST),
        (replace(FROM_THE_START, log_end=OffsetAndEpoch(0, 2)), ErrorCode.INVALID_REQUEST),
    ],
)
def test_whoever_speaks_of_another_epoch_is_told_the_leader_and_where_it_is(
    controller: WireClient, controller_node: RunningNode, fetch: Fetch, error: ErrorCode
) -> None:
    answer = controller.ask(asked(fetch, controller_node, wait_ms=10_000))

    (partition,) = answer.responses[0].partitions
    assert partition.error_code == error
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (1, 1)
    (leader,) = answer.node_endpoints
    assert f"{leader.host}:{leader.port}" == controller_node.address
    assert partition.records == b""


def test_a_log_that_went_another_way_is_told_where(
    controller: WireClient, controller_node: RunningNode
) -> None:
    fetch = replace(FROM_THE_START, log_end=OffsetAndEpoch(1_000_000, 1))

    answer = controller.ask(asked(fetch, controller_node, wait_ms=10_000))

    diverging = answer.responses[0].partitions[0].diverging_epoch
    assert diverging.epoch == 1
    assert 0 < diverging.end_offset < 1_000_000


def test_a_fetch_that_finds_nothing_waits_until_the_log_grows(
    controller: WireClient, controller_node: RunningNode
) -> None:
    """A controller with nothing to do writes a record twice a second."""
    raft = controller_node.node.quorum.raft.raft
    end = controller_node.call(lambda: raft.replica.end)
    fetch = replace(FROM_THE_START, log_end=end, high_watermark=1 << 62)

    answer = controller.ask(asked(fetch, controller_node, wait_ms=20_000))

    (partition,) = answer.responses[0].partitions
    header, _ = next(batches(partition.records))
    assert header.base_offset == end.offset


def test_nothing_else_is_fetched_here(controller: WireClient, controller_node: RunningNode) -> None:
    request = asked(FROM_THE_START, controller_node)
    request.topics[0].topic_id = Uuid(bytes(range(16)))

    assert controller.ask(request).error_code == ErrorCode.INVALID_REQUEST


def test_another_cluster_is_refused(controller: WireClient, controller_node: RunningNode) -> None:
    request = asked(FROM_THE_START, controller_node)
    request.cluster_id = "another"

    assert controller.ask(request).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
