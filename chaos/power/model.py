"""What a partition should hold, kept as a plain list of batches, with the questions a log answers worked out naively."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from struct import unpack_from
from typing import NamedTuple

from klamm.base.ids import TopicPartition, Uuid
from klamm.base.settings.topic import TopicSettings
from klamm.log.log import Log
from klamm.protocol.records.batch import BatchHeader, batches, read_header
from klamm.protocol.records.reader import Record, read_records

_WINDOW = 5
_ABORT = 0
UNCUT = 1 << 62


class Written(NamedTuple):
    """A batch with its place in the log, and exactly its bytes there."""

    header: BatchHeader
    data: bytes

    @classmethod
    def of(cls, data: bytes | bytearray) -> "Written":
        return cls(read_header(data), bytes(data))

    @property
    def base(self) -> int:
        return self.header.base_offset

    @property
    def last(self) -> int:
        return self.header.last_offset

    def records(self) -> list[Record]:
        return list(read_records(self.data))

    @property
    def is_abort(self) -> bool:
        if not self.header.is_control:
            return False
        (marker,) = self.records()
        _, kind = unpack_from(">hh", marker.key or b"")
        return bool(kind == _ABORT)


class Producer(NamedTuple):
    """What must be known of a producer: sequences of its last batches with their offsets, and its open transaction."""

    epoch: int
    batches: tuple[tuple[int, int, int, int], ...]
    open_since: int | None

    def is_known_as(self, known: "Producer") -> bool:
        """A snapshot holds only the last batch of each producer, so the older ones may be forgotten."""
        count = len(known.batches)
        return self._replace(batches=self.batches[-count:] if count else ()) == known and bool(
            self.batches
        ) == bool(count)


class Aborted(NamedTuple):
    producer_id: int
    first: int
    marker: int


@dataclass(slots=True)
class History:
    """One partition. `batches` is replaced, never shortened, so that an older promise keeps its own."""

    name: TopicPartition
    topic_id: Uuid
    settings: TopicSettings
    batches: list[Written] = field(default_factory=list)
    # Being written: after a crash it may be there or not.
    pending: Written | None = None
    # A flush that ended says that everything below is safe.
    synced: int = 0
    # The first offset that a client may read, and the same as far as it was promised to survive.
    start: int = 0
    synced_start: int = 0
    # From here on everything may be gone: it is being cut, or the power has failed already.
    cut_at: int = UNCUT

    @property
    def end(self) -> int:
        return self.batches[-1].last + 1 if self.batches else 0

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.settings.cleanup_policy

    def promise(self) -> "History":
        """As it is now; the list is shared up to its present length."""
        return replace(self, batches=self.batches[:])

    def possible(self) -> list[Written]:
        """All batches that a crash may leave, in order."""
        return [*self.batches, *([self.pending] if self.pending else [])]

    def before(self, end: int) -> list[Written]:
        return [batch for batch in self.possible() if batch.last < end]


def read_all(log: Log) -> list[Written]:
    """What a client can read, from the batch that holds the start of the log on."""
    found: list[Written] = []
    offset = log.start_offset
    while part := log.read(offset, 1 << 20, up_to=log.end_offset):
        found += [Written.of(bytes(batch)) for _, batch in batches(part.read())]
        offset = found[-1].last + 1
    return found


def producers_after(history: Sequence[Written]) -> dict[int, Producer]:
    epochs: dict[int, int] = {}
    recent: dict[int, deque[tuple[int, int, int, int]]] = {}
    open_since: dict[int, int | None] = {}
    for header, _ in history:
        producer = header.producer_id
        if producer < 0:
            continue
        if epochs.get(producer) != header.producer_epoch:
            recent[producer] = deque(maxlen=_WINDOW)
            epochs[producer] = header.producer_epoch
        if header.is_control:
            open_since[producer] = None
            continue
        recent[producer].append(
            (header.base_sequence, header.last_sequence, header.base_offset, header.last_offset)
        )
        if header.is_transactional and open_since.get(producer) is None:
            open_since[producer] = header.base_offset
    return {
        producer: Producer(epoch, tuple(recent[producer]), open_since.get(producer))
        for producer, epoch in epochs.items()
    }


def aborted_in(history: Sequence[Written]) -> Iterator[Aborted]:
    """In the order of their markers."""
    open_since: dict[int, int] = {}
    for batch in history:
        header = batch.header
        if header.is_control:
            first = open_since.pop(header.producer_id, None)
            if first is not None and batch.is_abort:
                yield Aborted(header.producer_id, first, header.base_offset)
        elif header.is_transactional:
            open_since.setdefault(header.producer_id, header.base_offset)


def first_at_or_after(
    history: Sequence[Written], timestamp: int, start: int
) -> tuple[int, int] | None:
    """(timestamp, offset) of the first record that is not older."""
    for batch in history:
        if batch.header.max_timestamp < timestamp or batch.last < start:
            continue
        for record in batch.records():
            if record.timestamp >= timestamp and record.offset >= start:
                return record.timestamp, record.offset
    return None
