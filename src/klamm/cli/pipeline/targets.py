"""Which pipeline is meant, and which cluster it talks to: a file, or the name of one that ran here."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from klamm.cli.connect import DEFAULT_BOOTSTRAP, Cluster
from klamm.cli.output import CommandError, UsageError
from klamm.pipeline.client import BadClientSettings, for_librdkafka
from klamm.pipeline.running import registry
from klamm.pipeline.running.registry import Run
from klamm.pipeline.spec import BadPipeline, Pipeline, filled, parse

INSTALL = "pip install 'klamm[pipeline]'"
_ENDINGS = (".yaml", ".yml")

PipelineFile = Annotated[Path, typer.Argument(metavar="FILE", help="The pipeline file.")]
NameOrFile = Annotated[
    str, typer.Argument(metavar="NAME|FILE", help="A pipeline by name, or its file.")
]
# Not the shared option: a cluster that the file names must win over the environment, and lose against the flag.
Bootstrap = Annotated[
    str | None,
    typer.Option(
        "--bootstrap",
        "-b",
        metavar="HOST:PORT",
        help="The broker to ask first [default: what the file says, KLAMM_BOOTSTRAP, "
        f"{DEFAULT_BOOTSTRAP}].",
    ),
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="DIR",
        help="Where progress and state are kept [default: what the file says, or a folder of klamm's].",
    ),
]
Master = Annotated[
    str, typer.Option("--master", metavar="URL", help="Spark's master, such as spark://host:7077.")
]
Warehouse = Annotated[
    str | None,
    typer.Option("--warehouse", metavar="DIR", help="Where tables are kept."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Tell only of trouble.")]
Execute = Annotated[
    bool, typer.Option("--execute", help="Do it; otherwise only show what would be done.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    name: str
    # None where only the name is known: the file is gone, or the pipeline was made in code.
    pipeline: Pipeline | None
    # Its last run on this machine, if there was one.
    run: Run | None
    is_by_name: bool = False

    @property
    def group(self) -> str:
        return f"pipeline.{self.name}"

    def bootstrap(self, option: str | None) -> str:
        """Where it runs, if it does; a run of the past counts only where nobody showed a file."""
        is_known = self.run is not None and (self.run.is_alive or self.is_by_name)
        of_run = self.run.bootstrap if self.run is not None and is_known else None
        in_file = _of_the_cluster(self.pipeline).bootstrap if self.pipeline else None
        in_environment = os.environ.get("KLAMM_BOOTSTRAP")
        return option or of_run or in_file or in_environment or DEFAULT_BOOTSTRAP

    def checkpoint(self, option: str | None = None) -> str:
        if option is not None:
            return option
        if self.run is not None and self.is_by_name:
            return self.run.checkpoint
        in_file = _of_the_cluster(self.pipeline).checkpoint if self.pipeline else None
        return in_file or registry.checkpoint_of(self.name)

    @property
    def client(self) -> dict[str, str]:
        """What the file says about connections, in its own names."""
        return dict(_of_the_cluster(self.pipeline).client) if self.pipeline else {}

    def cluster(self, option: str | None, properties: Iterable[str] | None = None) -> Cluster:
        """With the login that the file gives; -X wins over it."""
        cluster = Cluster.at(self.bootstrap(option), properties)
        try:
            settings = for_librdkafka(self.client)
        except BadClientSettings as bad:
            raise UsageError(str(bad)) from bad
        return replace(cluster, properties={**settings, **cluster.properties})


def find(text: str) -> Target:
    """A file if it looks like one or is there; else the name of a pipeline that ran here."""
    is_file = text.endswith(_ENDINGS) or os.sep in text or Path(text).is_file()
    if is_file:
        return target_of(read_pipeline(Path(text)))
    run = registry.look(text)
    if run is None:
        raise CommandError(
            f"no pipeline {text} ran on this machine",
            hint="`klamm pipeline list` shows those that did; a file may be given in place of the name",
        )
    return Target(name=text, pipeline=_still_readable(run), run=run, is_by_name=True)


def target_of(pipeline: Pipeline) -> Target:
    return Target(name=pipeline.name, pipeline=pipeline, run=registry.look(pipeline.name))


def read_pipeline(file: Path) -> Pipeline:
    """Wrong usage with every problem in it, one per line."""
    try:
        return parse(read_text(file), str(file))
    except BadPipeline as bad:
        raise mistakes(bad) from bad


def read_text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read",
            why=error.strerror or str(error),
            hint=f"klamm pipeline init -f {file}" if not file.exists() else "",
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not text in UTF-8") from error


def mistakes(bad: BadPipeline) -> UsageError:
    count = len(bad.problems)
    lines = "\n".join(f"  {line}" for line in bad.lines())
    return UsageError(f"{count} problem{'' if count == 1 else 's'} in the pipeline:\n{lines}")


def check_spark_is_installed() -> None:
    if importlib.util.find_spec("pyspark") is None:
        raise CommandError("pipelines run on Spark, and PySpark is not installed", hint=INSTALL)


def _of_the_cluster(pipeline: Pipeline) -> Pipeline:
    """With the variables of what concerns the cluster and the folders filled in.

    Not those of sources and sinks: to see the lag nobody should need the database's password.
    """
    try:
        return filled(replace(pipeline, sources=(), tables=(), sinks=(), options=()), os.environ)
    except BadPipeline as bad:
        raise mistakes(bad) from bad


def _still_readable(run: Run) -> Pipeline | None:
    if run.file is None:
        return None
    try:
        pipeline = parse(Path(run.file).read_text(), run.file)
    except (OSError, UnicodeDecodeError, BadPipeline):
        return None
    # The file may have become another pipeline's.
    return pipeline if pipeline.name == run.name else None
