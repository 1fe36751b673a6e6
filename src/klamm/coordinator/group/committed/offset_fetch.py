"""What a group has committed, worded as OffsetFetch answers it."""

from __future__ import annotations

from klamm.base.errors import ErrorCode
from klamm.base.ids import ZERO_UUID, Uuid
from klamm.coordinator.group.committed.pending import Committed, PendingOffsets
from klamm.coordinator.group.committed.store import OffsetStore
from klamm.metadata.image import ClusterImage
from klamm.protocol.messages.offset_fetch import (
    OffsetFetchRequestTopics,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

_NO_OFFSET = -1


class OffsetReading:
    """One group's part of one request.

    `require_stable` (KIP-447): an offset that a transaction is about to change is not told; the client asks again.
    """

    __slots__ = ("_by_id", "_group_id", "_image", "_pending", "_store")

    def __init__(
        self,
        group_id: str,
        store: OffsetStore,
        pending: PendingOffsets,
        image: ClusterImage,
        *,
        by_id: bool,
        require_stable: bool,
    ) -> None:
        self._group_id = group_id
        self._store = store
        self._pending = pending if require_stable and pending.has(group_id) else None
        self._image = image
        self._by_id = by_id

    def some(self, asked: list[OffsetFetchRequestTopics]) -> list[OffsetFetchResponseTopics]:
        committed = self._store.of_group(self._group_id)
        answers = []
        for topic in asked:
            name = topic.name
            if self._by_id:
                known = self._image.topics_by_id.get(topic.topic_id)
                if known is None:
                    answers.append(_unknown(topic))
                    continue
                name = known.name
            found = committed.get(name, {})
            answers.append(
                OffsetFetchResponseTopics(
                    name=name,
                    topic_id=topic.topic_id,
                    partitions=[
                        self._partition(name, topic.topic_id, index, found.get(index))
                        for index in topic.partition_indexes
                    ],
                )
            )
        return answers

    def all(self) -> list[OffsetFetchResponseTopics]:
        """Everything that was committed. By id only what still has one."""
        answers = []
        for name, found in self._store.of_group(self._group_id).items():
            topic_id = ZERO_UUID
            if self._by_id:
                known = self._image.topics_by_name.get(name)
                if known is None:
                    continue
                topic_id = known.topic_id
            answers.append(
                OffsetFetchResponseTopics(
                    name=name,
                    topic_id=topic_id,
                    partitions=[
                        self._partition(name, topic_id, index, committed)
                        for index, committed in found.items()
                    ],
                )
            )
        return answers

    def _partition(
        self, topic: str, topic_id: Uuid, index: int, committed: Committed | None
    ) -> OffsetFetchResponsePartitions:
        if self._pending is not None and self._pending.is_pending(self._group_id, topic, index):
            return _nothing(index, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        if committed is None or _is_of_another(committed.value.topic_id, topic_id):
            return _nothing(index)
        value = committed.value
        return OffsetFetchResponsePartitions(
            partition_index=index,
            committed_offset=value.offset,
            committed_leader_epoch=value.leader_epoch,
            metadata=value.metadata,
        )


def _is_of_another(committed: Uuid, asked: Uuid) -> bool:
    """The offset was committed for a topic of the same name that has been deleted since."""
    return committed != asked and ZERO_UUID not in (committed, asked)


def _nothing(index: int, error: ErrorCode = ErrorCode.NONE) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index, committed_offset=_NO_OFFSET, metadata="", error_code=error
    )


def _unknown(topic: OffsetFetchRequestTopics) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        topic_id=topic.topic_id,
        partitions=[
            _nothing(index, ErrorCode.UNKNOWN_TOPIC_ID) for index in topic.partition_indexes
        ],
    )
