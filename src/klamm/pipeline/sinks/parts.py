"""What a task does with its part of a batch: one transaction, with the marker of the batch in it.

The function travels to the workers, which keep their clients from batch to batch: opening one takes longer than
writing a small part. Another worker may have taken the id over since; then the marker, which is sent before any record,
is refused, and the client is opened anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from klamm.pipeline.sinks.ends import up_to_the_end
from klamm.pipeline.sinks.transaction import Columns, Headers, MarkedTransactions
from klamm.pipeline.sinks.trouble import SinkFailed

if TYPE_CHECKING:
    import pyarrow

REPORT = "part int, is_new boolean"
_MOST_KEPT = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class PartWriter:
    """Writes the parts of one batch; a part's number is that of Spark's partition."""

    bootstrap: str
    topic: str
    # The transactional id of a part is this and the part's number.
    prefix: str
    batch_id: int
    # Whether a part may find no marker though this is not the checkpoint's first batch.
    may_be_first: bool
    # Whether a part that may not, and finds none, is left out: then its marker alone is written.
    skips_lost: bool = False
    settings: dict[str, str] = field(default_factory=dict)

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """For mapInArrow: what `in_parts` gives in, the report out."""
        import pyarrow
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None, "tasks call this"
        part = context.partitionId()
        is_new = self.write(part, (_columns(batch) for batch in up_to_the_end(batches)))
        yield pyarrow.RecordBatch.from_pydict(
            {"part": pyarrow.array([part], pyarrow.int32()), "is_new": [is_new]}
        )

    def write(self, part: int, records: Iterable[Columns]) -> bool:
        """False if the part was in the topic already."""
        id = f"{self.prefix}.{part}"
        writer = self._begun_by_kept(id)
        is_begun, is_skipped = writer is not None, False
        if writer is None:
            writer = self._opened(id)
            if writer.is_written(self.batch_id):
                self._keep(id, writer)
                return False
        try:
            if not is_begun:
                is_skipped = self._is_skipped(writer)
                writer.begin(self.batch_id)
            writer.finish(self.batch_id, () if is_skipped else records)
        except BaseException:
            # The next attempt opens its own.
            writer.close()
            raise
        self._keep(id, writer)
        return not is_skipped

    def _begun_by_kept(self, id: str) -> MarkedTransactions | None:
        writer = _kept.pop((self.bootstrap, self.topic, id), None)
        if writer is None:
            return None
        try:
            if not writer.is_written(self.batch_id):
                writer.begin(self.batch_id)
                return writer
        except SinkFailed:
            # Fenced, or its broker was away: whoever is opened now hears of it if it still matters.
            pass
        writer.close()
        return None

    def _opened(self, id: str) -> MarkedTransactions:
        writer = MarkedTransactions(
            bootstrap=self.bootstrap, topic=self.topic, id=id, settings=self.settings
        )
        writer.open()
        return writer

    def _is_skipped(self, writer: MarkedTransactions) -> bool:
        if self.may_be_first:
            return False
        if self.skips_lost:
            return writer.has_lost_marker(self.batch_id)
        writer.check_marker(self.batch_id)
        return False

    def _keep(self, id: str, writer: MarkedTransactions) -> None:
        _kept[self.bootstrap, self.topic, id] = writer
        while len(_kept) > _MOST_KEPT:
            _kept.pop(next(iter(_kept))).close()


# The writers of this process, the one used last at the end.
_kept: dict[tuple[str, str, str], MarkedTransactions] = {}


def close_kept(prefix: str) -> None:
    """Closes the writers of one sink in this process."""
    for at in [at for at in _kept if at[2].startswith(f"{prefix}.")]:
        _kept.pop(at).close()


def _columns(batch: pyarrow.RecordBatch) -> Columns:
    keys, values = batch.column(0).to_pylist(), batch.column(1).to_pylist()
    # The last column is the end row's.
    if batch.num_columns < 4:
        return keys, values, None
    return keys, values, _header_lists(batch.column(2))


def _header_lists(headers: pyarrow.ListArray) -> list[Headers]:
    """Column by column: several times faster than a dict for each header."""
    offsets = headers.offsets.to_pylist()
    parts = headers.values
    pairs = list(zip(parts.field(0).to_pylist(), parts.field(1).to_pylist(), strict=True))
    return [pairs[start:end] for start, end in pairwise(offsets)]
