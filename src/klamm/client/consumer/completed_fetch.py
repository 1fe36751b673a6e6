"""Records out of fetched bytes: from the wanted offset on, without control records and aborted transactions. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop

from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.protocol.messages.fetch import AbortedTransaction
from klamm.protocol.records.batch import BatchHeader, BytesLike, batches, check_crc
from klamm.protocol.records.control import read_end_marker
from klamm.protocol.records.reader import Record, read_records


@dataclass(slots=True)
class Fetched:
    """What one fetch brought of one partition, given out bit by bit.

    `next_offset` is where reading goes on. It moves over records that are not shown as well; otherwise a consumer would
    wait for ever behind an aborted transaction.
    """

    partition: TopicPartition
    next_offset: int
    data: BytesLike
    # None: records of open and aborted transactions are shown, too.
    aborted: Iterable[AbortedTransaction] | None = None
    check_crcs: bool = True
    leader_epoch: int = -1
    _records: Iterator[tuple[BatchHeader, Record]] = field(init=False)
    _is_over: bool = False

    def __post_init__(self) -> None:
        self._records = self._visible()

    @property
    def is_over(self) -> bool:
        return self._is_over

    def take(self, most: int) -> list[tuple[BatchHeader, Record]]:
        taken: list[tuple[BatchHeader, Record]] = []
        try:
            while len(taken) < most:
                header, record = next(self._records)
                taken.append((header, record))
                self.next_offset = record.offset + 1
                self.leader_epoch = header.leader_epoch
        except StopIteration:
            self._is_over = True
        except CorruptFrame as e:
            self._is_over = True
            # What came before it is good. The next fetch begins at the damage, if it was not the network's.
            if not taken:
                where = f"{self.partition} at {self.next_offset}"
                raise ApiError(ErrorCode.CORRUPT_MESSAGE, f"{where}: {e}") from e
        return taken

    def count(self, end: int) -> int:
        """How many records before the offset `end` could be taken, in place of taking them. Raises CorruptFrame.

        Headers say it; records are looked at only in a batch of which some do not count.
        """
        found = 0
        for header, batch in self._visible_batches():
            if header.base_offset >= end:
                self.next_offset = end
                break
            if header.base_offset >= self.next_offset and header.last_offset < end:
                found += header.count
            else:
                found += sum(self.next_offset <= r.offset < end for r in read_records(batch))
        return found

    def _visible(self) -> Iterator[tuple[BatchHeader, Record]]:
        for header, batch in self._visible_batches():
            first = self.next_offset
            for record in read_records(batch):
                if record.offset >= first:
                    yield header, record

    def _visible_batches(self) -> Iterator[tuple[BatchHeader, BytesLike]]:
        hidden = _Hidden(self.aborted) if self.aborted is not None else None
        for header, batch in batches(self.data, partial_end=True):
            if header.last_offset < self.next_offset:
                continue
            if self.check_crcs and not check_crc(batch):
                raise CorruptFrame("the checksum does not match")
            is_hidden = hidden is not None and hidden.covers(header, batch)
            if not header.is_control and not is_hidden:
                yield header, batch
            # Compaction may have taken the last records of a batch, and hidden batches show none.
            self.next_offset = header.last_offset + 1
            self.leader_epoch = header.leader_epoch


class _Hidden:
    """Which producers' records are those of an aborted transaction, at the place that reading has come to."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._ahead = [(entry.first_offset, entry.producer_id) for entry in aborted]
        heapify(self._ahead)
        self._producers: set[int] = set()

    def covers(self, header: BatchHeader, batch: BytesLike) -> bool:
        while self._ahead and self._ahead[0][0] <= header.last_offset:
            self._producers.add(heappop(self._ahead)[1])
        if header.producer_id not in self._producers:
            return False
        if header.is_control:
            marker = read_end_marker(batch)
            if marker is not None and not marker.is_commit:
                self._producers.discard(header.producer_id)
        return header.is_transactional
