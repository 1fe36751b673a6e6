"""The quorum of the metadata: who leads it, who has voted for whom, and what its log says."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from itertools import combinations, pairwise

from klamm.metadata import snapshot
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.records.batch import batches
from klamm.server.loops.metadata_log import MetadataLog
from klamm.testing.invariants.catalogue import invariant
from klamm.testing.invariants.watching import Glimpse, Nodes, Seen


@invariant("R1")
def an_epoch_has_one_controller(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    """As far as any node knows."""
    for node_id, node in glimpse.nodes.items():
        quorum = node.quorum
        if quorum.leader_id is None:
            continue
        other = seen.controllers.setdefault(quorum.epoch, quorum.leader_id)
        if other != quorum.leader_id:
            yield (
                f"quorum epoch {quorum.epoch} is led by {other} and, as node {node_id} knows, "
                f"by {quorum.leader_id}"
            )


@invariant("R1", "D3")
def a_vote_stands(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    """Also over a restart: who has forgotten its vote may vote twice."""
    for node_id, node in glimpse.nodes.items():
        raft, known = node.quorum.raft, node.quorum.raft.raft.known
        if raft.failure is not None:
            # What it could not write down it told nobody.
            continue
        before = seen.quorum_epochs.get(node_id, 0)
        if known.number < before:
            yield f"node {node_id} was in quorum epoch {before} and is in {known.number}"
        seen.quorum_epochs[node_id] = known.number
        voted = seen.votes.get((node_id, known.number))
        if voted is not None and (known.voted is None or known.voted.id != voted.id):
            yield f"node {node_id} voted for {voted} in {known.number}, and now for {known.voted}"
        elif known.voted is not None:
            seen.votes[node_id, known.number] = known.voted


@invariant("R3")
def a_new_controller_has_all_that_was_committed(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    rafts = [node.quorum.raft.raft for node in glimpse.nodes.values()]
    leaders = [raft for raft in rafts if raft.is_leader]
    if leaders:
        newest = max(leaders, key=lambda raft: raft.epoch)
        if newest.end_offset < seen.metadata_committed and newest.epoch == max(
            raft.epoch for raft in rafts
        ):
            yield (
                f"controller {newest.me.id} of epoch {newest.epoch} has the log up to "
                f"{newest.end_offset}; {seen.metadata_committed} was committed"
            )
    highest = max((raft.high_watermark for raft in rafts), default=0)
    seen.metadata_committed = max(seen.metadata_committed, highest)


@invariant("R3")
def nodes_know_the_same_at_the_same_offset(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    for node_id, image in seen.published:
        other = seen.images.setdefault(image.offset, image)
        if other is not image and other != image:
            yield f"node {node_id} knows other things at offset {image.offset} than another node"
        for key, values in image.configs.items():
            if key.resource_type == ResourceType.TOPIC:
                for name, value in values.items():
                    seen.configs.add((key.resource_name, name, value))
    seen.published.clear()


@invariant("R5")
def voters_change_one_at_a_time(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    """So that any majority of the old ones has somebody of each majority of the new ones."""
    is_news = False
    for node in glimpse.nodes.values():
        raft = node.quorum.raft.raft
        history = raft.replica.history
        if not history.records.is_dynamic or history.changed_at in seen.voters:
            continue
        if history.changed_at < raft.high_watermark:
            seen.voters[history.changed_at] = history.records.ids
            is_news = True
    if is_news:
        for (_, old), (at, new) in pairwise(sorted(seen.voters.items())):
            if len(old ^ new) > 1:
                yield f"voters {sorted(old)} became {sorted(new)} at offset {at}"


@invariant("R2")
def metadata_logs_match(nodes: Nodes) -> Iterator[str]:
    logs = {node_id: _log_of(node.quorum._store) for node_id, node in nodes.items()}
    for one, two in combinations(logs, 2):
        mine, theirs = logs[one], logs[two]
        common = sorted(set(mine) & set(theirs), reverse=True)
        is_shared = False
        for offset in common:
            is_shared = is_shared or mine[offset][0] == theirs[offset][0]
            if is_shared and mine[offset] != theirs[offset]:
                yield f"the metadata logs of nodes {one} and {two} differ at offset {offset}"
                break


def _log_of(store: MetadataLog) -> dict[int, tuple[int, bytes]]:
    """Of each batch, by its offset: its epoch, and a hash of its bytes."""
    found = {}
    offset, log = store.log.start_offset, store.log
    while offset < log.end_offset:
        for header, batch in batches(store.read(offset, 1 << 20), partial_end=True):
            digest = blake2b(batch, digest_size=8).digest()
            found[header.base_offset] = header.leader_epoch, digest
            offset = header.last_offset + 1
    return found


@invariant("R4")
def snapshots_are_what_was_committed(nodes: Nodes, seen: Seen) -> Iterator[str]:
    """As a node had it in memory when it had read the log up to there; and no log begins behind its snapshot."""
    for node_id, node in nodes.items():
        store = node.quorum._store
        newest = store.newest_snapshot
        if store.start_offset > (newest.offset if newest else 0):
            yield f"node {node_id}: the log begins at {store.start_offset}, its snapshot is {newest}"
        for at in store.files.ids:
            known = seen.images.get(at.offset - 1)
            if known is None or (node_id, at) in seen.snapshots:
                continue
            seen.snapshots.add((node_id, at))
            if snapshot.read(store.files.read(at), at, cluster_id=known.cluster_id) != known:
                yield f"node {node_id}: the snapshot at {at} is not what was committed up to there"
