"""Tasks of the topic sink whose first attempt fails: among their records, or when all is committed and nobody knows."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyspark import TaskContext, cloudpickle

from klamm.pipeline.sinks.parts import PartWriter
from klamm.pipeline.sinks.transaction import Columns

# Workers know klamm, not what lies beside it.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@dataclass(frozen=True, kw_only=True)
class FlakyWriter(PartWriter):
    fails: str

    def write(self, part: int, records: Iterable[Columns]) -> bool:
        context = TaskContext.get()
        if context is None or context.attemptNumber() > 0:
            return super().write(part, records)
        if self.fails == "middle":
            return super().write(part, _breaking(records))
        super().write(part, records)
        raise ZeroDivisionError("the report is lost")


def _breaking(records: Iterable[Columns]) -> Iterator[Columns]:
    for keys, values, headers in records:
        yield keys, values, headers
        if len(values):
            raise ZeroDivisionError("in the middle")
