"""The pipeline that is killed: a stream through a Python step, an Arrow function and SQL into topics and a table.

Two topic sinks, since one writer and several have different ways to fail.
"""

from dataclasses import dataclass
from pathlib import Path

SOURCE = "clicks"
PARTITIONS = 2

_FILE = """\
name: {name}
source:
  topic: {source}
  format: json
  schema: "id bigint, page string"
  max_per_batch: {max_per_batch}
functions:
  - {{name: loud, arrow: "proof_steps:loud", returns: string}}
steps:
  - python: proof_steps:with_parity
  - sql: SELECT id, loud(page) AS page, parity FROM previous
sinks:
  - {{topic: {one_writer}, key: "cast(id AS string)", delivery: exactly_once}}
  - {{topic: {two_writers}, key: "cast(id AS string)", delivery: exactly_once, writers: 2}}
  - {{table: {table}, format: iceberg}}
trigger: {{every: 100 milliseconds}}
options:
{options}
"""

_STEPS = '''\
"""What the pipeline calls: it must reach the workers, too."""

import pyarrow
import pyarrow.compute
from pyspark.sql import DataFrame


def with_parity(rows: DataFrame) -> DataFrame:
    return rows.selectExpr("*", "id % 2 AS parity")


def loud(pages: pyarrow.Array) -> pyarrow.Array:
    return pyarrow.compute.utf8_upper(pages)
'''

_OPTIONS = {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "640m",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """`home` holds the pipeline's file and what it knows; `name` tells several jobs on one broker apart."""

    name: str
    home: Path
    warehouse: Path

    @property
    def file(self) -> Path:
        return self.home / f"{self.name}.yaml"

    @property
    def checkpoint(self) -> Path:
        return self.home / "checkpoint"

    @property
    def topics(self) -> tuple[str, str]:
        """What it writes: by one writer, by two."""
        return f"{self.name}-one", f"{self.name}-two"

    @property
    def table(self) -> str:
        return f"{self.name}_clicks"

    def write(self, *, max_per_batch: int = 20_000) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        one_writer, two_writers = self.topics
        text = _FILE.format(
            name=self.name,
            source=SOURCE,
            max_per_batch=max_per_batch,
            one_writer=one_writer,
            two_writers=two_writers,
            table=self.table,
            options="\n".join(f'  {key}: "{value}"' for key, value in _OPTIONS.items()),
        )
        self.file.write_text(text)
        (self.home / "proof_steps.py").write_text(_STEPS)


def row(number: int) -> dict[str, object]:
    """What the input of this number becomes."""
    return {"id": number, "page": f"/PAGE/{number}", "parity": number % 2}


def click(number: int) -> dict[str, object]:
    return {"id": number, "page": f"/page/{number}"}
