"""`python -m chaos.pipeline`: the long runs. Exit code 1 says that a promise was broken."""

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from chaos.pipeline import cycles
from chaos.pipeline.cycles import KINDS, Cycle
from klamm.pipeline.jars import Use
from klamm.pipeline.names import iceberg_name
from klamm.pipeline.session import SessionSettings, open_session


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    chosen = options.only.split(",") if options.only else list(KINDS)
    if unknown := [name for name in chosen if name not in KINDS]:
        print(f"chaos: no part {', '.join(unknown)}; there are {', '.join(KINDS)}", file=sys.stderr)
        return 2
    # So that brokers and drivers go, too, when somebody ends us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    print(f"seed {options.seed}", flush=True)
    home = Path(tempfile.mkdtemp(prefix="klamm-chaos-"))
    reader = _Reader(home / "lake")
    try:
        for kind in chosen:
            if not _run(kind, home, reader, times=options.times, seed=options.seed):
                print(f"{kind}: broken; the data is in {home}", flush=True)
                return 1
    finally:
        reader.close()
    shutil.rmtree(home)
    return 0


def _run(kind: str, home: Path, reader: "_Reader", *, times: int, seed: int) -> bool:
    began = time.monotonic()

    def tell(cycle: Cycle) -> None:
        print(f"{kind} {cycle.number}: {cycle.moment}, {cycle.seconds:.0f} s", flush=True)
        for verdict in cycle.verdicts:
            print(f"  {verdict}", flush=True)

    is_good = cycles.run(
        kind,
        home / kind,
        warehouse=reader.warehouse,
        times=times,
        seed=seed,
        read_table=reader,
        tell=tell,
    )
    print(f"{kind}: times={times} {time.monotonic() - began:.0f} s", flush=True)
    return is_good


class _Reader:
    """A session that only reads tables; every driver has its own."""

    def __init__(self, warehouse: Path) -> None:
        self.warehouse = warehouse
        self._spark: SparkSession = open_session(
            SessionSettings(
                name="chaos",
                master="local[1]",
                uses=(Use.ICEBERG,),
                warehouse=str(warehouse),
                driver_memory="1g",
            )
        )

    def __call__(self, table: str) -> Iterable[Mapping[str, Any]]:
        return [row.asDict() for row in self._spark.table(iceberg_name(table)).collect()]

    def close(self) -> None:
        self._spark.stop()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m chaos.pipeline",
        description="Kill a pipeline's driver, its Spark workers and its broker; repeat batches that were done.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--times", type=int, default=10, metavar="N", help="kills of each kind [default: 10]")
    add("--seed", type=int, default=random.randrange(10**6), metavar="N", help="of the moments")
    add("--only", metavar="A,B", help=f"of {', '.join(KINDS)}")
    return parser
