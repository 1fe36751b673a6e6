"""Deciding on one commit, partition by partition: does it exist, may the member commit, what is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from klamm.base.clock import Ms
from klamm.base.errors import ErrorCode
from klamm.base.ids import ZERO_UUID
from klamm.coordinator.group.kind import PartitionCheck
from klamm.coordinator.group.records import offset_commit
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.coordinator.records.group import OffsetCommitValue
from klamm.metadata.image import TopicImage

# May the member commit? Raises ApiError, or says what is left to be checked for each partition.
Admit = Callable[[], PartitionCheck | None]


class Asked(Protocol):
    """A partition, of a commit with or without a transaction."""

    @property
    def partition_index(self) -> int: ...
    @property
    def committed_offset(self) -> int: ...
    @property
    def committed_leader_epoch(self) -> int: ...
    @property
    def committed_metadata(self) -> str | None: ...


class Commit:
    """One request. The member is looked at when the first partition that exists comes up.

    A commit that is refused is decided a second time, with the refusal: it is the answer for every partition that
    exists, while the others are unknown whoever asks.
    """

    __slots__ = (
        "_admit",
        "_check",
        "_expires_at",
        "_group_id",
        "_is_admitted",
        "_most_metadata",
        "_names_topic_id",
        "_now",
        "_refusal",
        "records",
    )

    def __init__(
        self,
        group_id: str,
        admit: Admit,
        *,
        now: Ms,
        most_metadata: int,
        expires_at: Ms | None = None,
        refusal: ErrorCode | None = None,
        names_topic_id: bool = True,
    ) -> None:
        self._group_id = group_id
        self._admit = admit
        self._now = now
        self._most_metadata = most_metadata
        self._expires_at = expires_at
        self._refusal = refusal
        # Records of a transaction do not say which topic of that name they mean.
        self._names_topic_id = names_topic_id
        self._is_admitted = refusal is not None
        self._check: PartitionCheck | None = None
        self.records: list[CoordinatorRecord] = []

    def take(self, topic: TopicImage, asked: Asked) -> ErrorCode:
        """Decide on one partition."""
        index = asked.partition_index
        if not 0 <= index < len(topic.partitions):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if not self._is_admitted:
            self._check = self._admit()
            self._is_admitted = True
        if self._refusal is not None:
            return self._refusal
        metadata = asked.committed_metadata or ""
        if metadata and is_longer(metadata, self._most_metadata):
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        if self._check is not None:
            self._check(topic.name, topic.topic_id, index)
        if self._expires_at is None:
            value = OffsetCommitValue(
                offset=asked.committed_offset,
                leader_epoch=asked.committed_leader_epoch,
                metadata=metadata,
                commit_timestamp=self._now,
                topic_id=topic.topic_id if self._names_topic_id else ZERO_UUID,
            )
        else:
            # Records with a time to expire are of a version that knows neither leader epochs nor topic ids.
            value = OffsetCommitValue(
                offset=asked.committed_offset,
                metadata=metadata,
                commit_timestamp=self._now,
                expire_timestamp=self._expires_at,
            )
        self.records.append(offset_commit(self._group_id, topic.name, index, value))
        return ErrorCode.NONE


def is_longer(text: str, limit: int) -> bool:
    """Counted as Java counts: a character outside the basic plane is two. `limit` is called bytes, but is not."""
    if 2 * len(text) <= limit:
        return False
    return len(text.encode("utf-16-le", "surrogatepass")) > 2 * limit
