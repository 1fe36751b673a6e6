"""`klamm pipeline run`: brings what is missing, starts the pipeline, shows how it does and stops it when asked to."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from klamm.cli.connect import Output, check_reachable, parse_address
from klamm.cli.output import CommandError, Format, UsageError, notice
from klamm.cli.pipeline.fetch import bring
from klamm.cli.pipeline.live import View, view_for
from klamm.cli.pipeline.targets import (
    INSTALL,
    Bootstrap,
    Checkpoint,
    Master,
    PipelineFile,
    Quiet,
    Warehouse,
    check_spark_is_installed,
    mistakes,
    read_pipeline,
    target_of,
)
from klamm.cli.pipeline.units import amount
from klamm.pipeline.failures.trouble import USAGE, PipelineFailed, failed
from klamm.pipeline.jars import jars_for
from klamm.pipeline.plan import plan_of
from klamm.pipeline.running import registry
from klamm.pipeline.running.progress import Report
from klamm.pipeline.spec import BadPipeline, Pipeline, filled

if TYPE_CHECKING:
    from klamm.pipeline.running.metrics import PipelineMetrics
    from klamm.pipeline.running.supervisor import Notice, Watch

    # Shows how it does through the first, ends when the second is set, and tells people through the third.
    Work: TypeAlias = Callable[[Watch, threading.Event, Notice], object]

DEFAULT_MASTER = "local[*]"
_LOOPBACK = "127.0.0.1"
_INTERRUPTED = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the command line says about a run."""

    once: bool = False
    master: str = DEFAULT_MASTER
    bootstrap: str | None = None
    checkpoint: str | None = None
    warehouse: str | None = None
    # Beside what the file says of connections; it is kept nowhere.
    client: Mapping[str, str] = field(default_factory=dict)
    metrics: str | None = None
    output: Format | None = None
    quiet: bool = False


def run_command(
    file: PipelineFile,
    once: Annotated[bool, typer.Option("--once", help="Take what is there now and end.")] = False,
    master: Master = DEFAULT_MASTER,
    bootstrap: Bootstrap = None,
    checkpoint: Checkpoint = None,
    warehouse: Warehouse = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics-port", metavar="[HOST:]PORT", help="Serve metrics for Prometheus here."
        ),
    ] = None,
    quiet: Quiet = False,
    output: Output = None,
) -> None:
    """Run a pipeline until Ctrl-C, and show how it does.

    On a terminal in place, in a pipe one line per batch, with -o json one report per line.
    """
    run_file(
        file,
        Wishes(
            once=once,
            master=master,
            bootstrap=bootstrap,
            checkpoint=checkpoint,
            warehouse=warehouse,
            metrics=metrics,
            output=output,
            quiet=quiet,
        ),
    )


def run_file(file: Path, wishes: Wishes) -> None:
    pipeline = read_pipeline(file)
    client = {**dict(pipeline.client), **wishes.client}
    pipeline = replace(pipeline, client=tuple(client.items()))
    check_spark_is_installed()
    try:
        # Only to see that every variable is there before anything is fetched or started.
        filled(pipeline, os.environ)
    except BadPipeline as bad:
        raise mistakes(bad) from bad
    target = target_of(pipeline)
    bootstrap = target.bootstrap(wishes.bootstrap)
    if pipeline.uses_cluster:
        check_reachable(bootstrap)
    host, port = _metrics_address(wishes.metrics)
    run = registry.run_of_this_process(
        pipeline.name,
        file=str(file.absolute()),
        bootstrap=bootstrap,
        master=wishes.master,
        checkpoint=target.checkpoint(wishes.checkpoint),
        warehouse=wishes.warehouse or registry.warehouse(),
        once=wishes.once,
        metrics_port=port,
    )
    try:
        with ExitStack() as stack:
            stack.enter_context(registry.registered(run))
            bring(jars_for(plan_of(pipeline).uses), quiet=wishes.quiet)
            metrics = None
            if port is not None:
                metrics = stack.enter_context(_served_metrics(pipeline.name, host, port))
            view = stack.enter_context(view_for(wishes.output, quiet=wishes.quiet))
            last = run_watched(
                pipeline.name, view, metrics, _work_of(pipeline, run, file.absolute().parent)
            )
    except registry.AlreadyRuns as error:
        raise CommandError(str(error)) from error
    except PipelineFailed as failure:
        raise told(pipeline.name, failure) from failure
    if not wishes.quiet:
        notice(_summary(pipeline.name, last))


def told(name: str, failure: PipelineFailed) -> CommandError:
    kind = UsageError if failure.exit_code == USAGE else CommandError
    return kind(f"pipeline {name} failed", why=str(failure))


def _work_of(pipeline: Pipeline, run: registry.Run, folder: Path) -> Work:
    from klamm.pipeline.running.run import run as run_pipeline

    def work(watch: Watch, stop: threading.Event, notice: Notice) -> None:
        run_pipeline(
            pipeline,
            bootstrap=run.bootstrap,
            master=run.master,
            once=run.once,
            checkpoint=run.checkpoint,
            warehouse=run.warehouse,
            folder=folder,
            file=run.file,
            watch=watch,
            stop=stop,
            notice=notice,
        )

    return work


def run_watched(name: str, view: View, metrics: PipelineMetrics | None, do: Work) -> Report | None:
    """The last report. The work has a thread of its own: in the main one Spark would take the signals."""
    last: Report | None = None
    failure: BaseException | None = None
    stop = threading.Event()
    # A signal, or None: the run has ended. The queue may be put to from within a signal handler.
    events: SimpleQueue[int | None] = SimpleQueue()

    def watch(report: Report) -> None:
        nonlocal last
        last = report
        view.show(report)
        if metrics is not None:
            metrics.update(report)

    def work() -> None:
        nonlocal failure
        try:
            do(watch, stop, view.tell)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            failure = error
        finally:
            events.put(None)

    with _signals(events):
        view.say(f"Spark starts for {name} (some seconds)")
        worker = threading.Thread(target=work, name="pipeline", daemon=True)
        worker.start()
        while (event := events.get()) is not None:
            if stop.is_set() and event == signal.SIGINT:
                _leave_at_once(name, view)
            stop.set()
            view.say(
                "stopping; a second Ctrl-C ends it at once, and the next run repeats the batch"
            )
        worker.join()
    if failure is None:
        return last
    if stop.is_set() and not isinstance(failure, PipelineFailed):
        # Whoever ends a whole group of processes ends Spark as well, under the hands of the run.
        view.tell("Spark ended before its batch did; the next run repeats the batch")
        return last
    raise failure if isinstance(failure, PipelineFailed) else failed(failure)


@contextmanager
def _signals(events: SimpleQueue[int | None]) -> Iterator[None]:
    def hear(number: int, frame: object) -> None:
        events.put(number)

    before = {each: signal.signal(each, hear) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave_at_once(name: str, view: View) -> None:
    """No farewell to Spark: its driver ends when it no longer hears of us, and the checkpoint is made for that."""
    with suppress(Exception):
        view.__exit__(None, None, None)
        registry.note_stopped(name)
    os._exit(_INTERRUPTED)


@contextmanager
def _served_metrics(name: str, host: str, port: int) -> Iterator[PipelineMetrics]:
    try:
        from klamm.pipeline.running.metrics import MetricsServer, PipelineMetrics
    except ModuleNotFoundError as error:
        raise CommandError(
            "metrics need prometheus-client, which is not installed", hint=INSTALL
        ) from error
    metrics = PipelineMetrics(name)
    try:
        server = MetricsServer(metrics, host=host, port=port)
    except OSError as error:
        raise CommandError(
            f"metrics cannot be served at {host}:{port}",
            why=error.strerror or str(error),
            hint="--metrics-port with another port",
        ) from error
    try:
        yield metrics
    finally:
        server.close()


def _metrics_address(text: str | None) -> tuple[str, int | None]:
    """PORT or HOST:PORT. Only this machine sees them unless the host says otherwise."""
    if text is None:
        return _LOOPBACK, None
    try:
        return parse_address(text if ":" in text else f"{_LOOPBACK}:{text}")
    except UsageError:
        raise UsageError(
            f"--metrics-port {text!r} is not a port",
            hint="--metrics-port 9404, or 0.0.0.0:9404 for other machines",
        ) from None


def _summary(name: str, last: Report | None) -> str:
    if last is None:
        return f"{name} ended; there was nothing to read"
    batches = sum(query.batches for query in last.queries)
    records = max((query.input_records for query in last.queries), default=0)
    letters = f", {amount(last.dead_letters)} dead letters" if last.dead_letters else ""
    return f"{name} ended: {amount(records)} records in {batches} batches{letters}"
