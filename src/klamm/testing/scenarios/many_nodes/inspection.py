"""Looking at what lies in the logs of all nodes: now and then in the middle of it, and at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from klamm.server.node import Node
from klamm.testing.cluster import SimulatedCluster
from klamm.testing.invariants import Evidence, Look, cluster_violations
from klamm.testing.invariants.catalogue import invariant, told
from klamm.testing.invariants.quorum import metadata_logs_match, snapshots_are_what_was_committed
from klamm.testing.invariants.replicas import followers_begin_where_leaders_do, replicas_are_equal
from klamm.testing.invariants.watching import Watcher
from klamm.testing.scan import Scan, scan
from klamm.testing.scenarios.many_nodes.liveness import offsets_can_be_read
from klamm.testing.workload.stage import Stage

_GROUPS = ("classic-group", "consumer-group", "copies-of-transactor-1", "copies-of-transactor-2")

# So long a follower may take to hear where its leader's log begins.
_HEARD_SECONDS = 2.0


def look_closely(nodes: Mapping[int, Node], watcher: Watcher) -> None:
    """What holds at any moment, of nodes that live and are in any state."""
    watcher.complaints += told(metadata_logs_match, nodes)
    watcher.complaints += told(snapshots_are_what_was_committed, nodes, watcher.seen)
    watcher.complaints += told(coordinators_are_consistent, nodes)


@invariant("G1", "T3")
def coordinators_are_consistent(nodes: Mapping[int, Node]) -> list[str]:
    """What the shards of a coordinator know does not contradict itself."""
    found = []
    for node_id, node in nodes.items():
        if not hasattr(node, "broker"):
            continue
        for coordinator in (node.broker.groups, node.broker.transactions):
            for shard in coordinator.shards():
                try:
                    shard.check_invariants()
                except AssertionError as e:
                    found.append(f"node {node_id}: {e!r}")
    return found


async def final_look(
    cluster: SimulatedCluster, stage: Stage, evidence: Evidence, watcher: Watcher
) -> list[str]:
    nodes = {each: cluster.nodes[each] for each in cluster.living}
    before = _of_leaders(cluster, _scans(cluster))
    await asyncio.sleep(_HEARD_SECONDS)
    scans = _scans(cluster)
    began = stage.now()
    offsets, found = await offsets_can_be_read(stage, _GROUPS)
    look = Look(stage.now(), _of_leaders(cluster, scans), offsets=offsets)
    look.asked = (began, stage.now())
    look.configs = watcher.seen.configs
    evidence.looks.append(look)
    look_closely(nodes, watcher)
    return [
        *found,
        *watcher.complaints,
        *cluster_violations(evidence),
        *told(replicas_are_equal, scans),
        *told(followers_begin_where_leaders_do, scans, before),
    ]


def _scans(cluster: SimulatedCluster) -> dict[int, Scan]:
    return {each: scan(cluster.nodes[each]) for each in cluster.brokers if cluster.is_up(each)}


def _of_leaders(cluster: SimulatedCluster, scans: Mapping[int, Scan]) -> Scan:
    """Each partition as its leader has it."""
    found: Scan = {}
    for node_id, logs in scans.items():
        for name, log in logs.items():
            if cluster.leader_of(name.topic, name.partition) == node_id:
                found[name] = log
    return found
