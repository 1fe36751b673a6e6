"""Tasks that fail at their first attempt: one when its part is in the topic and nobody knows, the other in the middle of its records."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark import TaskContext, cloudpickle

from klamm.pipeline.sinks.parts import PartWriter
from klamm.pipeline.sinks.transaction import Columns

# Workers know klamm, not its tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@dataclass(frozen=True, kw_only=True)
class FlakyWriter(PartWriter):
    # Each failure leaves an empty file there.
    failures: Path

    def write(self, part: int, records: Iterable[Columns]) -> bool:
        context = TaskContext.get()
        if context is None or context.attemptNumber() > 0:
            return super().write(part, records)
        (self.failures / f"part-{part}").touch()
        if part == 1:
            records = _breaking(records)
        super().write(part, records)
        raise ZeroDivisionError("the report is lost")


def _breaking(records: Iterable[Columns]) -> Iterator[Columns]:
    yield from records
    raise ZeroDivisionError("in the middle")
