"""Words that producers, consumers and Admin have in common about committed offsets and groups."""

from __future__ import annotations

from typing import NamedTuple


class CommittedOffset(NamedTuple):
    """The offset of the next record to read. Without an epoch, a reset log is not noticed."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


class GroupMetadata(NamedTuple):
    """Who commits, for a transaction that commits a consumer's offsets: an old member is refused (KIP-447)."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
