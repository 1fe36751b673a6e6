"""`klamm demo`: three brokers of which one is killed, and a Spark pipeline. What `make run` shows to somebody new.

It runs the commands that it prints: what you see is what you can type. Spark takes some seconds to start, and in these a
broker dies: so there is something to see, and the pipeline must bear it as well.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from klamm.cli.cluster.create import HIGHEST_PORT
from klamm.cli.cluster.local import LocalCluster
from klamm.cli.connect import command_group, run_typer
from klamm.cli.demo.brokers import TOPIC, show_a_death, stay_up, three_brokers
from klamm.cli.demo.pipeline import CLICKS, PAGES, missing_for_spark, pipeline_over_clicks
from klamm.cli.demo.screen import run as run_command
from klamm.cli.demo.screen import tell
from klamm.cli.output import CommandError, complain

app = command_group("Start three brokers, kill one, and show records and a pipeline.")


def run(arguments: Sequence[str]) -> int:
    return run_typer(app, "demo", arguments)


@app.command()
def demo(
    once: Annotated[
        bool, typer.Option("--once", help="End after the show, and do not stay up.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            "-d",
            metavar="DIR",
            help="Keep the cluster here, where nothing is yet. [default: it goes when the demo ends]",
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            "--port",
            "-p",
            min=0,
            max=HIGHEST_PORT,
            help="Of the first broker; the others follow. 0 takes free ones.",
        ),
    ] = 9092,
    no_spark: Annotated[
        bool, typer.Option("--no-spark", help="Show the brokers alone, and no pipeline.")
    ] = False,
) -> None:
    """Start three brokers, produce, kill one, consume, run a pipeline on Spark; then stay up until Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="klamm-demo-") as name:
        folder = Path(name)
        directory = data.absolute() if data else folder / "cluster"
        with three_brokers(directory, port, kept=data is not None) as cluster:
            works = _show(cluster, folder, with_spark=not no_spark, must_work=once)
            tell("It works." if works else "The brokers work; the pipeline does not yet.")
            if once:
                return
            addresses = cluster.bootstrap.replace(",", ", ")
            where = (
                f"The brokers listen on {addresses}. Any Kafka client can use them; Ctrl-C stops."
            )
            try:
                tell(where)
                stay_up(cluster)
            except KeyboardInterrupt:
                tell("Stopping.")
                return
            raise CommandError("the brokers ended by themselves")


def _show(cluster: LocalCluster, folder: Path, *, with_spark: bool, must_work: bool) -> bool:
    """Without Spark, or without what it needs, the brokers are still worth showing. False if the pipeline failed."""
    missing = missing_for_spark() if with_spark else None
    topics = (TOPIC, CLICKS, PAGES) if with_spark and not missing else (TOPIC,)
    run_command(cluster.bootstrap, "topic", "create", *topics, "--partitions", "3")
    if len(topics) == 1:
        show_a_death(cluster)
        if missing:
            tell(f"There is more to see, a pipeline on Spark: {missing}")
        return True
    try:
        with pipeline_over_clicks(cluster.bootstrap, folder) as pipeline:
            show_a_death(cluster)
            pipeline.show_result()
    except CommandError as failure:
        if must_work:
            raise
        complain(failure)
        return False
    return True
