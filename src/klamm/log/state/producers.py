"""What a partition knows of its producers: sequences, epochs, duplicates, open transactions.

Pure: it sees headers and offsets, never bytes or files. `check` decides and changes nothing; `appended` and `marked`
record what was written, so that replaying a log gives the same state as living through it.

A sequence counts records per producer and partition, and wraps from 2**31 - 1 to 0. Duplicates are found among the
last five batches of a producer, since a client keeps at most five requests in flight.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from klamm.base.errors import ApiError, ErrorCode
from klamm.log.index.txn_index import AbortedTransaction

WINDOW = 5
_SEQUENCE_MASK = 0x7FFFFFFF
NO_EPOCH = -1
NO_SEQUENCE = -1
NO_OFFSET = -1


class SequencedBatch(NamedTuple):
    """One of the last batches of a producer."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class ProducerState:
    """One producer id on one partition."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "epoch",
        "last_sequence",
        "last_timestamp",
        "producer_id",
        "txn_first_offset",
    )

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.epoch = NO_EPOCH
        self.last_sequence = NO_SEQUENCE
        self.batches: deque[SequencedBatch] = deque(maxlen=WINDOW)
        self.last_timestamp = -1
        self.coordinator_epoch = -1
        self.txn_first_offset: int | None = None

    def enter_epoch(self, epoch: int) -> None:
        """Sequences begin again, and a batch of an earlier epoch is no duplicate of one in this."""
        self.epoch = epoch
        self.last_sequence = NO_SEQUENCE
        self.batches.clear()


class CompletedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    # The marker's own offset.
    last_offset: int
    is_aborted: bool


class ProducerStates:
    """All producers of one partition."""

    __slots__ = ("_ended", "_open", "_states")

    def __init__(self) -> None:
        self._states: dict[int, ProducerState] = {}
        # First offset of each open transaction -> its producer. Offsets only rise, so the first key is the least.
        self._open: dict[int, int] = {}
        # Transactions whose markers are not known to be committed, in the order of the markers: offset of the marker,
        # first offset. Another leader may not have the marker, so for readers they are still open.
        self._ended: deque[tuple[int, int]] = deque()

    def __len__(self) -> int:
        return len(self._states)

    def __iter__(self) -> Iterator[ProducerState]:
        return iter(self._states.values())

    def get(self, producer_id: int) -> ProducerState | None:
        return self._states.get(producer_id)

    # Deciding ----------------------------------------------------------------------------------

    def check(
        self,
        producer_id: int,
        epoch: int,
        first_sequence: int,
        last_delta: int,
        is_transactional: bool,
    ) -> SequencedBatch | None:
        """None: append it. A batch: this one was appended before. Raises what the client must be told."""
        state = self._states.get(producer_id)
        if state is None:
            # Either new, or forgotten by retention or expiry: any sequence is welcome.
            return None
        if epoch == state.epoch:
            # The usual case first. After the mask, -1 + 1 and 2**31 - 1 + 1 are both 0.
            if first_sequence != (state.last_sequence + 1) & _SEQUENCE_MASK:
                return _duplicate_in(state, first_sequence, last_delta)
        elif epoch < state.epoch:
            raise _fenced(state, epoch)
        elif first_sequence != 0:
            raise _out_of_order(state, first_sequence)
        if state.txn_first_offset is not None and not is_transactional:
            raise ApiError(
                ErrorCode.INVALID_TXN_STATE,
                f"Producer {producer_id} wrote outside its open transaction.",
            )
        return None

    def check_epoch(self, producer_id: int, epoch: int) -> None:
        """All that is asked of a coordinator's own writes."""
        state = self._states.get(producer_id)
        if state is not None and epoch < state.epoch:
            raise _fenced(state, epoch)

    def check_marker(self, producer_id: int, epoch: int, coordinator_epoch: int) -> None:
        """May this coordinator end a transaction of this producer?"""
        self.check_epoch(producer_id, epoch)
        state = self._states.get(producer_id)
        if state is not None and coordinator_epoch < state.coordinator_epoch:
            raise ApiError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"Coordinator epoch {coordinator_epoch} is older than {state.coordinator_epoch}.",
            )

    # Recording ---------------------------------------------------------------------------------

    def appended(
        self,
        producer_id: int,
        epoch: int,
        first_sequence: int,
        first_offset: int,
        last_offset: int,
        timestamp: int,
        is_transactional: bool,
    ) -> None:
        """A data batch stands in the log."""
        state = self._states.get(producer_id)
        if state is None:
            state = self._states[producer_id] = ProducerState(producer_id)
        if epoch != state.epoch:
            state.enter_epoch(epoch)
        if first_sequence >= 0:
            last_sequence = (first_sequence + last_offset - first_offset) & _SEQUENCE_MASK
            state.last_sequence = last_sequence
            state.batches.append(
                SequencedBatch(first_sequence, last_sequence, first_offset, last_offset, timestamp)
            )
        state.last_timestamp = timestamp
        if is_transactional and state.txn_first_offset is None:
            state.txn_first_offset = first_offset
            self._open[first_offset] = producer_id

    def marked(
        self,
        producer_id: int,
        epoch: int,
        coordinator_epoch: int,
        *,
        offset: int,
        timestamp: int,
        is_abort: bool,
    ) -> CompletedTransaction | None:
        """A marker stands in the log; returns the transaction it ended, None if none was open here."""
        state = self._states.get(producer_id)
        if state is None:
            state = self._states[producer_id] = ProducerState(producer_id)
        if epoch != state.epoch:
            state.enter_epoch(epoch)
        state.coordinator_epoch = coordinator_epoch
        state.last_timestamp = timestamp
        first_offset, state.txn_first_offset = state.txn_first_offset, None
        if first_offset is None:
            return None
        del self._open[first_offset]
        self._ended.append((offset, first_offset))
        return CompletedTransaction(producer_id, first_offset, offset, is_abort)

    # Transactions ------------------------------------------------------------------------------

    @property
    def first_open_offset(self) -> int | None:
        """Where the earliest open transaction begins."""
        return next(iter(self._open), None)

    def first_undecided_offset(self, high_watermark: int) -> int | None:
        """The same, where an end counts only if it is committed."""
        first = next(iter(self._open), None)
        if self._ended:
            self.committed(high_watermark)
            for _, began in self._ended:
                if first is None or began < first:
                    first = began
        return first

    def committed(self, high_watermark: int) -> None:
        """The high watermark rose: ends of transactions below it are final."""
        ended = self._ended
        while ended and ended[0][0] < high_watermark:
            ended.popleft()

    @property
    def has_markers(self) -> bool:
        """Whether any transaction ever ended here, as far as is known."""
        return any(state.coordinator_epoch >= 0 for state in self._states.values())

    def recall_ends(self, replayed: ProducerStates, high_watermark: int) -> None:
        """Those that a snapshot did not tell of."""
        self._ended = replayed._ended
        self.committed(high_watermark)

    def aborted_entry(self, completed: CompletedTransaction) -> AbortedTransaction:
        """The index entry of an aborted transaction: with the last stable offset now that it is over."""
        first = self.first_open_offset
        stable = completed.last_offset + 1 if first is None else first
        return AbortedTransaction(
            completed.producer_id, completed.first_offset, completed.last_offset, stable
        )

    # Forgetting --------------------------------------------------------------------------------

    def expire(self, now: int, expiry_ms: int) -> list[int]:
        """Forget producers that were silent for long; one with an open transaction stays."""
        gone = [
            state.producer_id
            for state in self._states.values()
            if state.txn_first_offset is None and now - state.last_timestamp >= expiry_ms
        ]
        for producer_id in gone:
            del self._states[producer_id]
        return gone

    def forget_oldest(self, keep: int) -> None:
        """Forget those that have not appended for longest, until so many are left; an open transaction stays."""
        idle = [state for state in self._states.values() if state.txn_first_offset is None]
        idle.sort(key=lambda state: state.batches[-1].last_offset if state.batches else -1)
        for state in idle[: max(0, len(self._states) - keep)]:
            del self._states[state.producer_id]

    def restore(self, state: ProducerState) -> None:
        """Take over a state from a snapshot. The caller restores all of them, then calls `sort_open`."""
        self._states[state.producer_id] = state
        if state.txn_first_offset is not None:
            self._open[state.txn_first_offset] = state.producer_id

    def sort_open(self) -> None:
        self._open = dict(sorted(self._open.items()))


def _duplicate_in(state: ProducerState, first_sequence: int, last_delta: int) -> SequencedBatch:
    last_sequence = (first_sequence + last_delta) & _SEQUENCE_MASK
    for batch in state.batches:
        if batch.first_sequence == first_sequence and batch.last_sequence == last_sequence:
            return batch
    raise _out_of_order(state, first_sequence)


def _out_of_order(state: ProducerState, sequence: int) -> ApiError:
    return ApiError(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"Producer {state.producer_id} sent sequence {sequence} after {state.last_sequence}.",
    )


def _fenced(state: ProducerState, epoch: int) -> ApiError:
    return ApiError(
        ErrorCode.INVALID_PRODUCER_EPOCH,
        f"Producer {state.producer_id} has epoch {state.epoch}; {epoch} is older.",
    )
