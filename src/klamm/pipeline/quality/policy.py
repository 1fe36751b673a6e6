"""What is checked on a source, and what happens to a record that does not pass. No Spark."""

from __future__ import annotations

from dataclasses import dataclass

from klamm.pipeline.spec import (
    Expectation,
    FileFormat,
    FileSource,
    JdbcSource,
    Otherwise,
    Pipeline,
    RecordFormat,
    Source,
    TopicSource,
)

# The check that every record passes which can be decoded; an expectation may have any other name.
MALFORMED = "malformed"


@dataclass(frozen=True, slots=True)
class Policy:
    """`malformed` is None where every record can be decoded."""

    malformed: Otherwise | None
    expectations: tuple[Expectation, ...]

    def otherwise(self) -> dict[str, Otherwise]:
        """What happens by the name of the check, in the order of the checks: the first that fails decides."""
        of_malformed = {} if self.malformed is None else {MALFORMED: self.malformed}
        return of_malformed | {each.name: each.otherwise for each in self.expectations}

    def names(self, otherwise: Otherwise) -> list[str]:
        return [name for name, what in self.otherwise().items() if what is otherwise]

    @property
    def keeps_dead_letters(self) -> bool:
        return Otherwise.DEAD_LETTER in self.otherwise().values()


def policy_of(pipeline: Pipeline, source: Source) -> Policy:
    checked = tuple(
        each
        for each in pipeline.expect
        if (each.on or pipeline.sources[0].name).lower() == source.name.lower()
    )
    return Policy(_malformed(pipeline, source), checked)


def _malformed(pipeline: Pipeline, source: Source) -> Otherwise | None:
    if isinstance(source, JdbcSource):
        return None
    if isinstance(source, FileSource) and source.format is FileFormat.PARQUET:
        return None
    # Text can be malformed: bytes that are no UTF-8.
    if isinstance(source, TopicSource) and source.format is RecordFormat.BYTES:
        return None
    default = Otherwise.FAIL if pipeline.dead_letter is None else Otherwise.DEAD_LETTER
    return source.malformed or default
