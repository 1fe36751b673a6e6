"""Functions that users wrote, in modules beside the pipeline file: the driver finds them, and so do the workers."""

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from klamm.pipeline.failures.trouble import PipelineFailed
from pipeline.steps.running_steps import a_pipeline, fill, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def write_module(folder: Path, name: str, text: str) -> None:
    path = folder / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))


def test_functions_beside_the_pipeline_file_run_on_driver_and_workers(
    spark: "SparkSession", bootstrap: str, tmp_path: Path
) -> None:
    fill(bootstrap, "functions", {"n": 1}, {"n": 2})
    write_module(tmp_path, "kl_helpers", "TEN = 10")
    write_module(tmp_path, "kl_pack/__init__", "")
    write_module(tmp_path, "kl_pack/deep", "def label(n): return f'number {n}'")
    write_module(
        tmp_path,
        "kl_functions",
        """
        import pyarrow
        from pyspark.sql import functions as f
        import kl_pack.deep

        def add(rows, by):
            return rows.withColumn("n", f.col("n") + int(by))

        def label(batches):
            from kl_helpers import TEN
            for batch in batches:
                names = [kl_pack.deep.label(n + TEN) for n in batch.column("n").to_pylist()]
                yield pyarrow.RecordBatch.from_pydict({"label": names})

        def shout(texts):
            return pyarrow.array([text.as_py().upper() for text in texts])
        """,
    )
    steps = [
        {"python": "kl_functions:add", "arguments": {"by": "100"}},
        {"arrow": "kl_functions:label", "schema": "label string"},
        {"sql": "SELECT shout(label) FROM previous"},
    ]
    shout = {"name": "shout", "arrow": "kl_functions:shout", "returns": "string"}
    pipeline = a_pipeline("functions", "n int", steps, functions=[shout])

    rows = rows_of(spark, pipeline, bootstrap, tmp_path)

    assert rows == [("NUMBER 111",), ("NUMBER 112",)]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (
            {"sql": "SELECT usr FROM input"},
            "steps[0] (view bad): A column, variable, or function parameter with name `usr` cannot be resolved."
            " Did you mean one of the following? [`user`]; line 1 pos 7",
        ),
        (
            {"sql": "SELEC user"},
            "steps[0] (view bad): Syntax error at or near 'SELEC'. (line 1, pos 0)",
        ),
        (
            {"python": "kl_nowhere:f"},
            "steps[0] (view bad): there is no module kl_nowhere: put kl_nowhere.py beside the pipeline file or"
            " install it",
        ),
        ({"python": "kl_broken:g"}, "steps[0] (view bad): the module kl_broken has no g"),
        (
            {"python": "kl_broken:nothing"},
            "steps[0] (view bad): kl_broken:nothing returned NoneType, not a DataFrame",
        ),
        (
            {"python": "kl_broken:fails"},
            "steps[0] (view bad): ValueError: no such country (kl_broken.py, line 6, in fails)",
        ),
    ],
)
def test_mistake_in_a_step_names_the_step(
    spark: "SparkSession", bootstrap: str, tmp_path: Path, step: dict[str, object], words: str
) -> None:
    if "mistakes" not in known_topics(bootstrap):
        fill(bootstrap, "mistakes", {"user": "ann"})
    write_module(
        tmp_path,
        "kl_broken",
        """
        def nothing(rows):
            pass

        def fails(rows):
            raise ValueError("no such country")
        """,
    )

    with pytest.raises(PipelineFailed) as failure:
        rows_of(
            spark,
            a_pipeline("mistakes", "user string", [{**step, "view": "bad"}]),
            bootstrap,
            tmp_path,
        )

    assert str(failure.value) == words


def known_topics(bootstrap: str) -> set[str]:
    from confluent_kafka.admin import AdminClient

    return set(AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=20).topics)
