"""Sinks of a view: what the file says of each."""

from dataclasses import dataclass
from random import Random
from typing import Any

from fuzz.pipelines import formats
from fuzz.pipelines.drawing.expressions import Columns, Expression, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkPlan:
    """`view` is the number of the step that it reads, -1 for the source. `keys` are columns, of upserts and of counts."""

    view: int
    output: str
    columns: Columns
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan(SinkPlan):
    topic: str
    partitions: int
    format: str
    key: Expression | None
    is_exact: bool
    # By run: the number may change from one to the next.
    writers: tuple[int, ...]

    @property
    def label(self) -> str:
        how = f"{self.writers[0]} writers" if self.is_exact else "at least once"
        return f"topic({self.format}, {how})"

    @property
    def has_headers(self) -> bool:
        return formats.HEADERS in self.columns

    @property
    def value_columns(self) -> Columns:
        return {name: kind for name, kind in self.columns.items() if name != formats.HEADERS}

    def facts(self, run: int) -> dict[str, Any]:
        facts: dict[str, Any] = {"topic": self.topic, "format": self.format, "output": self.output}
        if self.key is not None:
            facts["key"] = self.key.sql
        if self.has_headers:
            facts["headers"] = formats.HEADERS
        if self.format == "avro":
            facts["schema"] = formats.avro_schema(self.value_columns)
        if self.is_exact:
            return facts | {"delivery": "exactly_once", "writers": self.writers[run]}
        return facts | {"delivery": "at_least_once"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan(SinkPlan):
    table: str
    format: str
    is_upsert: bool
    partition_by: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"{self.format}({'upsert' if self.is_upsert else 'append'})"

    def facts(self, run: int) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "table": self.table,
            "format": self.format,
            "output": self.output,
            "partition_by": list(self.partition_by),
        }
        return facts | ({"mode": "upsert", "key": list(self.keys)} if self.is_upsert else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetPlan(SinkPlan):
    folder: str
    partition_by: tuple[str, ...]

    label = "parquet"

    def facts(self, run: int) -> dict[str, Any]:
        return {"parquet": self.folder, "partition_by": list(self.partition_by)}


def draw_sink(
    chance: Random,
    *,
    view: int,
    columns: Columns,
    outputs: tuple[str, ...],
    keys: tuple[str, ...],
    name: str,
    folder: str,
    runs: int,
) -> TopicPlan | TablePlan | ParquetPlan:
    """`keys`: of a view whose rows are counts that change."""
    output = chance.choice(outputs)
    changes = output != "append"
    kinds = ["topic"] * 4 + ["table"] * 3 + ([] if changes else ["parquet"])
    match chance.choice(kinds):
        case "topic":
            return _topic(chance, view, output, columns, keys, name, runs)
        case "table":
            is_upsert = changes or chance.random() < 0.5
            own = keys or (
                chance.choice((("id",), ("user",))) if "id" in columns else ("user", "c")
            )
            return TablePlan(
                view=view,
                output=output,
                columns=columns,
                keys=own if is_upsert else (),
                table=name.replace("-", "_"),
                format=chance.choice(("iceberg", "delta")),
                is_upsert=is_upsert,
                partition_by=("user",) if chance.random() < 0.25 else (),
            )
        case _:
            return ParquetPlan(
                view=view,
                output=output,
                columns=columns,
                folder=f"{folder}/{name}",
                partition_by=("user",) if chance.random() < 0.25 else (),
            )


def _topic(
    chance: Random,
    view: int,
    output: str,
    columns: Columns,
    keys: tuple[str, ...],
    name: str,
    runs: int,
) -> TopicPlan:
    changes = output != "append"
    format = "json" if changes else chance.choices(("json", "avro", "csv"), (3, 2, 1))[0]
    if format == "csv" and "array<string>" in columns.values():
        format = "json"
    writers = chance.choice((1, 1, 2, 3, 4))
    numbers = [writers]
    for _ in range(runs - 1):
        numbers.append(chance.randrange(1, 5) if chance.random() < 0.2 else numbers[-1])
    return TopicPlan(
        view=view,
        output=output,
        columns=columns,
        keys=keys if changes else (),
        topic=name,
        partitions=chance.choice((1, 2, 3)),
        format=format,
        key=_of_counts(keys) if changes else _key(chance, columns),
        is_exact=chance.random() < 0.85,
        writers=tuple(numbers),
    )


def _of_counts(keys: tuple[str, ...]) -> Expression:
    return Expression(f"struct({', '.join(keys)})", "string", lambda row: None)


def _key(chance: Random, columns: Columns) -> Expression | None:
    def text(name: str) -> Expression:
        return Expression(name, "string", lambda row: _text(row[name]))

    def grouped(row: Row) -> str | None:
        return None if row["n"] is None else str(row["n"] % 3)

    possible: list[Expression | None] = [None, text("user"), text("user")]
    if "id" in columns:
        possible.append(text("id"))
    if "n" in columns:
        possible.append(Expression("pmod(n, 3)", "string", grouped))
    return chance.choice(possible)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
