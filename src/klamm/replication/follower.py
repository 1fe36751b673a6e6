"""What a partition takes from its leader: records, how far they are committed, and where to cut what went another way."""

from __future__ import annotations

from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode
from klamm.log.disk import File
from klamm.log.results import Origin
from klamm.metadata.image import NO_LEADER
from klamm.replication.partition import Partition, Role, guarded


@guarded
def append_fetched(
    partition: Partition,
    data: bytearray | memoryview,
    *,
    leader_epoch: int,
    high_watermark: int,
    log_start: int,
    now: Ms,
) -> bool:
    """What the leader of this epoch sent; True if our high watermark rose. An answer of an older epoch is refused."""
    _check_follower(partition, leader_epoch)
    log = partition.log
    if len(data):
        log.append(data, leader_epoch=leader_epoch, now=now, origin=Origin.REPLICATION)
    before = partition.high_watermark
    partition.high_watermark = max(before, min(high_watermark, log.end_offset))
    if log_start > log.start_offset:
        log.advance_start(min(log_start, partition.high_watermark))
    if partition.high_watermark == before:
        return False
    log.producers.committed(partition.high_watermark)
    return True


@guarded
def truncate_to(partition: Partition, offset: int, leader_epoch: int, now: Ms = 0) -> File | None:
    """Our log went another way than the leader's from here on.

    The file that is returned must be on disk, and the recovery point be written down, before anything is appended.
    """
    _check_follower(partition, leader_epoch)
    file = partition.log.truncate_to(offset, now, sync=False)
    partition.high_watermark = min(partition.high_watermark, partition.log.end_offset)
    partition.recall_ends(again=True)
    return file


@guarded
def truncate_fully_and_start_at(
    partition: Partition, offset: int, leader_epoch: int, now: Ms = 0
) -> None:
    """The leader has nothing any more that continues our log."""
    _check_follower(partition, leader_epoch)
    partition.log.truncate_fully_and_start_at(offset, now)
    partition.high_watermark = offset


def _check_follower(partition: Partition, leader_epoch: int) -> None:
    if partition.is_offline:
        raise partition.not_leader()
    # One that is no longer ours has no leader, and its files are gone.
    has_leader = partition.role is Role.FOLLOWER and partition.leader_id != NO_LEADER
    if not has_leader or leader_epoch != partition.leader_epoch:
        raise ApiError(ErrorCode.FENCED_LEADER_EPOCH)
