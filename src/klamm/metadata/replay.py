"""Replay: records in, images out. The same code serves a restart, a running node and a snapshot.

What a record does to the image is said in effects.py. Transactions of KIP-868 are honoured here: what stands between
BeginTransaction and EndTransaction is held back until the end is seen, so nobody ever sees half of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from klamm.metadata.delta import Delta, Draft, ReplayError
from klamm.metadata.effects import EFFECTS
from klamm.metadata.image import ClusterImage
from klamm.metadata.records.log import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)


class Replayer:
    """Follows the log from an image on. publish() gives the newest whole image."""

    __slots__ = ("_draft", "_held", "_image", "_last")

    def __init__(self, image: ClusterImage) -> None:
        self._image = image
        self._draft = Draft(image)
        # Records of a transaction whose end has not been seen; None outside of one.
        self._held: list[object] | None = None
        # Where the draft stands: offset, epoch and timestamp of the last record it covers.
        self._last = (image.offset, image.epoch, image.timestamp)

    @property
    def image(self) -> ClusterImage:
        """The image that was published last."""
        return self._image

    @property
    def in_transaction(self) -> bool:
        return self._held is not None

    def replay(
        self, records: Iterable[object], *, last_offset: int, epoch: int, timestamp: int
    ) -> None:
        """One batch, as it stands in the log up to last_offset."""
        for record in records:
            self._one(record)
        if self._held is None:
            self._last = (last_offset, epoch, timestamp)

    def publish(self) -> tuple[ClusterImage, Delta]:
        offset, epoch, timestamp = self._last
        self._image, delta = self._draft.publish(offset=offset, epoch=epoch, timestamp=timestamp)
        self._draft = Draft(self._image)
        return self._image, delta

    def _one(self, record: object) -> None:
        kind = type(record)
        if kind is BeginTransactionRecord:
            if self._held is not None:
                raise ReplayError("a transaction begins within another one")
            self._held = []
        elif kind is EndTransactionRecord:
            for each in self._take_held("ends"):
                self._dispatch(each)
        elif kind is AbortTransactionRecord:
            self._take_held("is aborted")
        elif self._held is not None:
            self._held.append(record)
        else:
            self._dispatch(record)

    def _take_held(self, what: str) -> list[object]:
        if self._held is None:
            raise ReplayError(f"a transaction {what} that never began")
        held, self._held = self._held, None
        return held

    def _dispatch(self, record: object) -> None:
        effect = EFFECTS.get(type(record))
        if effect is None:
            raise ReplayError(f"{type(record).__name__} is not a metadata record")
        effect(self._draft, record)


def apply(
    image: ClusterImage, records: Sequence[object], *, offset: int, epoch: int, timestamp: int = 0
) -> tuple[ClusterImage, Delta]:
    """One step: `offset` is that of the last record."""
    replayer = Replayer(image)
    replayer.replay(records, last_offset=offset, epoch=epoch, timestamp=timestamp)
    return replayer.publish()
