"""A few pipelines of `make fuzz-pipelines`, the same in every run, small and without kills.

KLAMM_SEED names another first one.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from fuzz.pipelines.running import Place, clear_case, run_case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST = int(os.environ.get("KLAMM_SEED", "0"))
# A join of streams, one with a table, a window, deduplication, and none of them; chosen among the short ones.
SEEDS = (FIRST,) if FIRST else (5, 22, 36, 44, 52)
MOST_RECORDS = 60
MOST_RUNS = 2


@pytest.mark.parametrize("seed", SEEDS)
def test_sinks_hold_what_plain_python_computes(
    spark: "SparkSession", bootstrap: str, warehouse: Path, tmp_path: Path, seed: int
) -> None:
    name = f"random-{seed}"
    case = clear_case(seed, name, tmp_path, most=MOST_RECORDS, most_runs=MOST_RUNS)
    place = Place(spark=spark, bootstrap=bootstrap, warehouse=str(warehouse), home=tmp_path)

    wrong = run_case(case, place)

    assert not wrong, "\n".join([f"seed {seed}: {case}", *wrong])
