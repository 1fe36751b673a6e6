"""This node's copy of the log, as the machine sees it: where it ends, how much is on disk, how much is committed.

The bytes are the shell's: what is appended or cut here is asked of it through Ready, and done before anything else is.
"""

from __future__ import annotations

from collections.abc import Sequence

from klamm.base.clock import Ms
from klamm.base.errors import CorruptFrame
from klamm.base.ids import OffsetAndEpoch
from klamm.protocol.records.batch import batches, check_crc
from klamm.protocol.records.control import ControlMessage, control_batch, read_control_messages
from klamm.protocol.wire import Buffer
from klamm.raft.messages import Batch
from klamm.raft.rules import RaftLog, truncation_point
from klamm.raft.voters import VoterHistory, VoterRecords


class LostCommitted(Exception):
    """The leader's log lacks what this node knows to be committed: never to be followed, a person must look."""


class Replica:
    def __init__(self, log: RaftLog, end: OffsetAndEpoch, history: VoterHistory) -> None:
        self.log = log
        self.end = end
        self.flushed_end = end.offset
        self.high_watermark = 0
        self.history = history
        # As far as the leader is known to have committed, which may be more than is here.
        self._leader_high_watermark = 0

    @property
    def is_flushed(self) -> bool:
        return self.flushed_end == self.end.offset

    def append(self, data: bytearray, count: int, *, epoch: int, timestamp: Ms) -> Batch:
        batch = Batch(self.end.offset, count, epoch, timestamp, data)
        self.end = OffsetAndEpoch(batch.end_offset, epoch)
        return batch

    def append_control(
        self, messages: Sequence[ControlMessage], *, epoch: int, timestamp: Ms
    ) -> Batch:
        at = self.end.offset
        data = control_batch(messages, timestamp=timestamp, base_offset=at, leader_epoch=epoch)
        for message in messages:
            self.history.note(at, message)
        return self.append(data, len(messages), epoch=epoch, timestamp=timestamp)

    def append_fetched(self, records: Buffer) -> list[Batch]:
        """Batches of the leader, as they are. CorruptFrame: nothing of them was taken."""
        fetched = []
        end = self.end
        for header, data in batches(records, partial_end=True):
            is_next = header.base_offset == end.offset and header.leader_epoch >= end.epoch
            if not is_next or not check_crc(data):
                raise CorruptFrame(
                    f"a batch at {header.base_offset} of epoch {header.leader_epoch} behind {end}"
                )
            end = OffsetAndEpoch(header.last_offset + 1, header.leader_epoch)
            fetched.append((header, data))
        controls = [
            (header.base_offset, list(read_control_messages(data)))
            for header, data in fetched
            if header.is_control
        ]
        for offset, messages in controls:
            for message in messages:
                self.history.note(offset, message)
        self.end = end
        return [
            Batch(
                header.base_offset,
                header.last_offset_delta + 1,
                header.leader_epoch,
                header.max_timestamp,
                data,
            )
            for header, data in fetched
        ]

    def withdraw(self, batch: Batch) -> None:
        """The shell could not append the newest batch: it never was."""
        assert batch.end_offset == self.end.offset
        self.end = OffsetAndEpoch(batch.base_offset, self.end.epoch)
        self.history.truncate(batch.base_offset)

    def truncate(self, diverging: OffsetAndEpoch) -> int:
        """The leader's log ends there in the epoch that both share: cut what it does not have."""
        offset = truncation_point(diverging, self.log)
        if offset < self.high_watermark:
            raise LostCommitted(f"told to cut at {offset}; {self.high_watermark} is committed")
        self.end = OffsetAndEpoch(offset, self.log.epoch_before(offset))
        self.flushed_end = min(self.flushed_end, offset)
        self.history.truncate(offset)
        return offset

    def restart(self, snapshot: OffsetAndEpoch, records: VoterRecords) -> None:
        """A snapshot took the place of the log."""
        self.end = snapshot
        self.flushed_end = snapshot.offset
        self.high_watermark = max(self.high_watermark, snapshot.offset)
        self.history.restart(snapshot.offset, records)

    def flushed(self, end_offset: int) -> None:
        self.flushed_end = max(self.flushed_end, min(end_offset, self.end.offset))

    def hear_high_watermark(self, high_watermark: int) -> None:
        self._leader_high_watermark = high_watermark
        self.follow_high_watermark()

    def forget_leader(self) -> None:
        self._leader_high_watermark = 0

    def follow_high_watermark(self) -> None:
        """A follower knows to be committed what the leader says and its own disk holds."""
        reached = min(self._leader_high_watermark, self.flushed_end)
        self.high_watermark = max(self.high_watermark, reached)
