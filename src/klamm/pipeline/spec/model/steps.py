"""What a pipeline computes: SQL first, and what SQL cannot say. Joins, windows and sessions are SQL."""

# ruff: noqa: RUF009 - `entry` is `dataclasses.field`, not a value computed once

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from klamm.pipeline.spec.kinds import Choice, Flag, ListOf, Options, Text
from klamm.pipeline.spec.model.sources import WATERMARK, Otherwise, Pairs, Watermark
from klamm.pipeline.spec.model.values import (
    COLUMN,
    FUNCTION,
    NAME,
    SCHEMA,
    SQL,
    VIEW,
    Duration,
    DurationKind,
)
from klamm.pipeline.spec.sections import OneOf, entry

# In SQL, and wherever `from` is left out: the result of the step before, at first the source.
PREVIOUS = "previous"

_VIEW_DOC = "The name under which later steps and sinks read the result."
_VIEW_DEFAULT = "step1, step2, ... by its place in the list"
_FROM_DOC = "The view it reads."
_FROM_DEFAULT = "the step before; for the first, the source"


class Timers(StrEnum):
    """Which clock wakes a state: none, the machine's, or the watermark."""

    NONE = "none"
    PROCESSING = "processing"
    EVENT = "event"


class OutputMode(StrEnum):
    """Which rows of a result are given on: new ones, changed ones, or all."""

    APPEND = "append"
    UPDATE = "update"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlStep:
    """A SELECT over the views before it.

    Joins, windows and sessions are written here: JOIN, window(...), session_window(...).
    """

    LEADS: ClassVar[tuple[str, ...]] = ("sql",)

    sql: str = entry(
        SQL, "The SELECT. Sources, tables and earlier steps are views; previous is the step before."
    )
    view: str | None = entry(VIEW, _VIEW_DOC, default=None, default_words=_VIEW_DEFAULT)
    watermark: Watermark | None = entry(
        WATERMARK, "A watermark on a column of the result.", default=None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonStep:
    """A Python function from DataFrame to DataFrame."""

    LEADS: ClassVar[tuple[str, ...]] = ("python",)

    python: str = entry(
        FUNCTION, "The function, as module:function; it is given the DataFrame and the arguments."
    )
    arguments: Pairs = entry(Options(), "Named arguments for the function, as text.", default=())
    from_view: str | None = entry(
        VIEW, _FROM_DOC, default=None, name="from", default_words=_FROM_DEFAULT
    )
    view: str | None = entry(VIEW, _VIEW_DOC, default=None, default_words=_VIEW_DEFAULT)
    watermark: Watermark | None = entry(
        WATERMARK, "A watermark on a column of the result.", default=None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowStep:
    """A Python function over Arrow record batches: an iterator of them in, an iterator of them out (mapInArrow)."""

    LEADS: ClassVar[tuple[str, ...]] = ("arrow",)

    arrow: str = entry(FUNCTION, "The function, as module:function.")
    schema: str = entry(SCHEMA, "The columns that it returns.")
    from_view: str | None = entry(
        VIEW, _FROM_DOC, default=None, name="from", default_words=_FROM_DEFAULT
    )
    view: str | None = entry(VIEW, _VIEW_DOC, default=None, default_words=_VIEW_DEFAULT)
    watermark: Watermark | None = entry(
        WATERMARK, "A watermark on a column of the result.", default=None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupeStep:
    """Keeps the first record of each key. With a watermark it forgets keys that are older than the delay."""

    LEADS: ClassVar[tuple[str, ...]] = ("dedupe",)

    dedupe: tuple[str, ...] = entry(
        ListOf(COLUMN, or_one=True), "The columns that make two records the same."
    )
    forever: bool = entry(
        Flag(),
        "Never forget a key: needs no watermark, and its state grows with the number of keys. Late records pass, too.",
        default=False,
    )
    from_view: str | None = entry(
        VIEW, _FROM_DOC, default=None, name="from", default_words=_FROM_DEFAULT
    )
    view: str | None = entry(VIEW, _VIEW_DOC, default=None, default_words=_VIEW_DEFAULT)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateStep:
    """State of your own per key: a StatefulProcessor for Spark's transformWithState."""

    LEADS: ClassVar[tuple[str, ...]] = ("state",)

    state: str = entry(FUNCTION, "The processor's class, as module:Class.")
    by: tuple[str, ...] = entry(ListOf(COLUMN, or_one=True), "The columns of the key.")
    schema: str = entry(SCHEMA, "The columns that it returns.")
    timers: Timers = entry(
        Choice(Timers),
        "Which clock its timers follow; event needs a watermark.",
        default=Timers.NONE,
    )
    ttl: Duration | None = entry(
        DurationKind(1), "Given to the processor as its time to live for state.", default=None
    )
    output: OutputMode = entry(
        Choice(OutputMode), "Which rows it gives on.", default=OutputMode.APPEND
    )
    from_view: str | None = entry(
        VIEW, _FROM_DOC, default=None, name="from", default_words=_FROM_DEFAULT
    )
    view: str | None = entry(VIEW, _VIEW_DOC, default=None, default_words=_VIEW_DEFAULT)


Step = SqlStep | PythonStep | ArrowStep | DedupeStep | StateStep

STEP = OneOf(
    "a step",
    (SqlStep, PythonStep, ArrowStep, DedupeStep, StateStep),
    {
        "join": "a join in SQL (sql: SELECT ... FROM orders JOIN payments ON ...)",
        "window": "a window in SQL (sql: SELECT window(at, '10 seconds') w, ... GROUP BY 1)",
        "session": "a session in SQL (sql: SELECT session_window(at, '5 minutes') s, ... GROUP BY 1)",
        "filter": "a filter in SQL (sql: SELECT * FROM previous WHERE ...)",
        "select": "SQL (sql: SELECT ...)",
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A Python function over Arrow arrays that SQL may call by its name."""

    name: str = entry(VIEW, "Its name in SQL.")
    arrow: str = entry(
        FUNCTION, "The function, as module:function: arrays in, one array of the same length out."
    )
    returns: str = entry(Text("a type such as string"), "The type that it returns.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What must be true of every record, and what happens to one of which it is not."""

    name: str = entry(NAME, "Its name in reports and in the dead letter's reason.")
    check: str = entry(
        SQL, "A condition in SQL; a record for which it is false or NULL does not pass."
    )
    otherwise: Otherwise = entry(
        Choice(Otherwise),
        "drop counts and forgets the record, dead_letter keeps it for later, fail stops the pipeline.",
        default=Otherwise.FAIL,
    )
    on: str | None = entry(
        VIEW,
        "The source or step whose records are checked; dead_letter is for sources, which still know "
        "raw bytes and position.",
        default=None,
        default_words="the source",
    )
