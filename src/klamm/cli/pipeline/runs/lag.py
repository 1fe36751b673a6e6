"""`klamm pipeline lag`: as the cluster knows it, also when the pipeline runs elsewhere, or not at all."""

from __future__ import annotations

from klamm.cli.connect import Output, Properties
from klamm.cli.group.lag import lag as show_group_lag
from klamm.cli.output import CommandError
from klamm.cli.pipeline.targets import Bootstrap, NameOrFile, find
from klamm.cli.watch import Interval, Watch


def lag(
    target: NameOrFile,
    watch: Watch = False,
    interval: Interval = 2.0,
    bootstrap: Bootstrap = None,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Show how much a pipeline has still to read.

    From the offsets of its group, as its cluster knows them.
    """
    found = find(target)
    cluster = found.cluster(bootstrap, properties)
    try:
        show_group_lag(
            names=[found.group],
            watch=watch,
            interval=interval,
            bootstrap=cluster.bootstrap,
            properties=[f"{key}={value}" for key, value in cluster.properties.items()],
            output=output,
        )
    except CommandError as failure:
        if not failure.what.startswith("there is no group"):
            raise
        raise CommandError(
            f"pipeline {found.name} has not processed anything yet",
            why=f"{cluster.bootstrap} knows no group {found.group}",
            hint="klamm pipeline run FILE; -b names another cluster",
        ) from failure
