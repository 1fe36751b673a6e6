"""Partitions and their replicas: who leads, what is committed, and where it lies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from klamm.base.ids import TopicPartition
from klamm.metadata.image import PartitionImage
from klamm.replication.partition import Partition
from klamm.testing.invariants.catalogue import invariant
from klamm.testing.invariants.watching import Glimpse, Key, Seen, partitions_of
from klamm.testing.scan import Scan, ScannedBatch, ScannedLog

# So long a node may take to see that its disk has failed, and to end.
_FAILS_WITHIN = 5.0


@invariant("P1")
def an_epoch_has_one_leader(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    for node_id, key, partition in glimpse.led():
        other = seen.leaders.setdefault((key, partition.leader_epoch), node_id)
        if other != node_id:
            yield f"{partition.name} is led by {other} and {node_id} in {partition.leader_epoch}"


@invariant("P1", "P5")
def leaders_change_as_they_may(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    """Epochs rise, a new leader has a new one, and it was in sync or eligible before."""
    newest, before = glimpse.newest, seen.newest
    if before is None or newest is None or newest.offset <= before.offset:
        return
    old = {key: partition for _, key, partition in partitions_of(before)}
    for name, key, now in partitions_of(newest):
        was = old.get(key)
        if was is None or was is now:
            continue
        if now.leader_epoch < was.leader_epoch or now.partition_epoch < was.partition_epoch:
            yield f"{name}: epochs fell from {was} to {now}"
        if now.leader == was.leader or now.leader < 0:
            continue
        if was.leader >= 0 and now.leader_epoch == was.leader_epoch:
            yield f"{name}: another leader in the same epoch: {was}, {now}"
        eligible = {*was.isr, *was.elr, *was.adding}
        if not now.elr:
            # Who was eligible has crashed and may have lost something: then the last leader is as good as any (KIP-966).
            eligible.update(was.last_known_elr)
        if now.partition_epoch == was.partition_epoch + 1 and now.leader not in eligible:
            yield f"{name}: {now.leader} leads and was not in sync: {was}, {now}"


@invariant("P4")
def the_isr_has_only_who_lives(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    """A fenced broker stays in an ISR only if it is the last."""
    newest = glimpse.newest
    if newest is None or newest is seen.newest:
        return
    fenced = {each.broker_id for each in newest.brokers.values() if each.is_fenced}
    if fenced:
        for name, _, partition in partitions_of(newest):
            if len(partition.isr) > 1 and fenced.intersection(partition.isr):
                yield f"{name}: {sorted(fenced)} are fenced: {partition}"


@invariant("P4")
def the_isr_is_what_the_controller_says(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    for node_id, key, partition in glimpse.led():
        known = _as_known(glimpse, key, partition)
        if known is not None and known.isr != partition.isr:
            yield f"{partition.name} on {node_id}: its ISR is {partition.isr}, and should be {known}"


def _as_known(glimpse: Glimpse, key: Key, partition: Partition) -> PartitionImage | None:
    """What the newest metadata says of it, if that is what its leader knows, too."""
    if glimpse.newest is None:
        return None
    topic = glimpse.newest.topics_by_name.get(partition.name.topic)
    if topic is None or topic.topic_id != key[0] or key[1] >= len(topic.partitions):
        return None
    known = topic.partitions[key[1]]
    is_current = known.partition_epoch == partition.partition_epoch
    return known if is_current and known.leader_epoch == partition.leader_epoch else None


@invariant("P2")
def high_watermarks_never_fall(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    """At a leader, in its epoch; and they are not above the log."""
    for node_id, key, partition in glimpse.led():
        now, end = partition.high_watermark, partition.log.end_offset
        before = seen.held.get((node_id, key))
        if now > end:
            yield f"{partition.name} on {node_id}: {now} is above the log's end, {end}"
        if before is None or before.partition is not partition or not before.is_leader:
            continue
        if before.leader_epoch == partition.leader_epoch and now < before.high_watermark:
            yield f"{partition.name} on {node_id}: was at {before.high_watermark}, now {now}"


@invariant("P2", "P4")
def all_in_sync_have_what_is_committed(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    """Of leaders that know of no older ISR than the controller does."""
    for node_id, key, partition in glimpse.led():
        known = _as_known(glimpse, key, partition)
        if known is None:
            continue
        for member in known.isr:
            node = glimpse.nodes.get(member)
            if node is None or not hasattr(node, "broker"):
                continue
            copy = node.broker.replicas.find(*partition.name)
            if copy is None or copy.topic_id != key[0] or copy.is_offline:
                continue
            if copy.log.end_offset < partition.high_watermark:
                yield (
                    f"{partition.name}: committed up to {partition.high_watermark} on {node_id}, and "
                    f"{member}, which is in sync, ends at {copy.log.end_offset}"
                )


@invariant("P3")
def a_new_leader_has_all_that_was_committed(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    for node_id, key, partition in glimpse.led():
        committed = seen.committed.get(key, 0)
        if partition.log.end_offset < committed and _as_known(glimpse, key, partition) is not None:
            yield (
                f"{partition.name}: {node_id} leads in epoch {partition.leader_epoch} and ends at "
                f"{partition.log.end_offset}; {committed} was committed"
            )


@invariant("P5")
def nothing_is_committed_below_min_isr(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    for node_id, key, partition in glimpse.led():
        before = seen.held.get((node_id, key))
        if before is None or before.partition is not partition:
            continue
        is_same = before.is_leader and before.partition_epoch == partition.partition_epoch
        is_low = not before.has_min_isr and not partition.has_min_isr
        if is_same and is_low and partition.high_watermark > before.high_watermark:
            yield (
                f"{partition.name} on {node_id}: from {before.high_watermark} to "
                f"{partition.high_watermark} with the ISR {partition.isr}"
            )


@invariant("P6")
def nobody_cuts_below_its_high_watermark(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    for node_id, key, partition in glimpse.replicas:
        before = seen.held.get((node_id, key))
        if before is None or before.partition is not partition:
            continue
        if partition.log.end_offset < before.committed:
            yield (
                f"{partition.name} on {node_id}: ends at {partition.log.end_offset}, and knew "
                f"{before.committed} to be committed"
            )


@invariant("D1")
def what_was_safe_is_there_after_a_crash(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    """What a node knew to be committed; after a power failure, of that what was synced."""
    if not seen.safe:
        return
    for node_id, key, partition in glimpse.replicas:
        safe = seen.safe.pop((node_id, key), None)
        if safe is not None and partition.log.end_offset < safe:
            known = _as_known(glimpse, key, partition)
            if known is not None and node_id in known.replicas and node_id not in known.adding:
                yield f"{partition.name} on {node_id}: ends at {partition.log.end_offset} after {safe}"


@invariant("D2")
def a_failed_disk_leads_nothing(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    for node_id, _, partition in glimpse.led():
        failed = glimpse.failed.get(node_id)
        if failed is not None and glimpse.now > failed + _FAILS_WITHIN:
            yield f"{partition.name} is led by {node_id}, whose disk failed at {failed:.3f}"


@invariant("C2")
def the_start_of_a_replica_never_goes_back(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    """Nor is anything deleted that is not committed."""
    for node_id, key, partition in glimpse.replicas:
        start, before = partition.log.start_offset, seen.held.get((node_id, key))
        if start > partition.high_watermark:
            yield (
                f"{partition.name} on {node_id}: begins at {start}, committed is "
                f"{partition.high_watermark}"
            )
        if before is not None and before.partition is partition and start < before.start:
            yield f"{partition.name} on {node_id}: began at {before.start}, now {start}"


@invariant("T2")
def last_stable_offsets_never_fall(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    """At a leader, in its epoch; and they are not above the high watermark, nor an open transaction."""
    for node_id, key, partition in glimpse.led():
        now, before = partition.last_stable_offset, seen.held.get((node_id, key))
        first_open = partition.log.producers.first_open_offset
        end = partition.high_watermark if first_open is None else first_open
        if now > max(end, partition.log.start_offset):
            yield f"{partition.name} on {node_id}: stable up to {now}, and open from {first_open}"
        if before is None or before.partition is not partition or not before.is_leader:
            continue
        if before.leader_epoch == partition.leader_epoch and now < before.stable:
            yield f"{partition.name} on {node_id}: stable up to {before.stable}, now {now}"


@invariant("P6")
def replicas_are_equal(scans: Mapping[int, Scan]) -> Iterator[str]:
    """What two replicas both hold as committed is the same, but for what compaction took from one of them."""
    names = dict.fromkeys(name for scan in scans.values() for name in scan)
    for name in names:
        copies = {node_id: scan[name] for node_id, scan in scans.items() if name in scan}
        first, *others = copies
        for other in others:
            if copies[first].topic_id == copies[other].topic_id:
                yield from _differences(name, first, copies[first], other, copies[other])


def _differences(
    name: TopicPartition, one: int, a: ScannedLog, two: int, b: ScannedLog
) -> Iterator[str]:
    end = min(a.high_watermark, b.high_watermark)
    start = max(a.start, b.start)
    if a.is_compacted:
        mine = {record.offset: record for _, record in a.records() if start <= record.offset < end}
        theirs = {record.offset: record for _, record in b.records()}
        for offset, record in mine.items():
            found = theirs.get(offset)
            if found is not None and (found.key, found.value) != (record.key, record.value):
                yield f"{name} at {offset}: node {one} has {record.value!r}, node {two} {found.value!r}"
        return
    ours, others = _between(a, start, end), _between(b, start, end)
    for mine_batch, their_batch in zip(ours, others, strict=False):
        if mine_batch != their_batch:
            yield (
                f"{name}: node {one} has a batch at {mine_batch.base_offset} that differs from "
                f"node {two}'s at {their_batch.base_offset}"
            )
            return
    if len(ours) != len(others):
        yield f"{name}: nodes {one} and {two} have {len(ours)} and {len(others)} batches below {end}"


def _between(log: ScannedLog, start: int, end: int) -> list[ScannedBatch]:
    return [each for each in log.batches if start <= each.base_offset and each.last_offset < end]


@invariant("C2")
def followers_begin_where_leaders_do(scans: Mapping[int, Scan], leaders: Scan) -> Iterator[str]:
    """At last: a follower may have cleaned more by itself, and never less."""
    for node_id, logs in scans.items():
        for name, log in logs.items():
            leader = leaders.get(name)
            if leader is not None and leader.topic_id == log.topic_id and log.start < leader.start:
                yield f"{name} on {node_id}: begins at {log.start}, at its leader at {leader.start}"


@invariant("P4", "R3")
def nobody_serves_before_it_knows_itself(seen: Seen, glimpse: Glimpse) -> Iterator[str]:
    """Whoever may lead has read the metadata up to its own registration."""
    newest = glimpse.newest
    for node_id, node in (*glimpse.nodes.items(), *glimpse.coming.items()):
        if newest is None or not hasattr(node, "broker"):
            continue
        known, own = node.broker.image.offset, newest.brokers.get(node_id)
        if own is None or own.is_fenced or own.epoch != node.quorum.broker_epoch:
            continue
        if known < own.epoch:
            yield f"node {node_id} may lead and knows the metadata up to {known}, not {own.epoch}"
