"""Stands for a run of a pipeline in a process of its own: it registers itself and ends when it is told to.

Arguments: the pipeline's name, the cluster, and what it does at SIGTERM (`stop`, `fail` or `die`).
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from klamm.pipeline.running import registry
from klamm.pipeline.running.progress import Reporter


def main(name: str, bootstrap: str, at_end: str, lines: str) -> None:
    # A signal that comes early waits until it is asked for.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    run = registry.run_of_this_process(
        name,
        bootstrap=bootstrap,
        master="local[*]",
        checkpoint=registry.checkpoint_of(name),
        warehouse=registry.warehouse(),
        metrics_port=9404,
    )
    with registry.registered(run):
        reporter = Reporter(name)
        for line in Path(lines).read_text().splitlines() if lines else ():
            reporter.add(line)
        registry.note_progress(name, reporter.report().to_dict())
        print("ready", flush=True)
        signal.sigwait([signal.SIGTERM])
        if at_end == "fail":
            raise RuntimeError("the table is gone")
        if at_end == "die":
            os._exit(1)


@contextmanager
def running(
    name: str, *, bootstrap: str = "127.0.0.1:1", at_end: str = "stop", lines: Path | None = None
) -> Iterator["subprocess.Popen[str]"]:
    arguments = [name, bootstrap, at_end, str(lines or "")]
    with subprocess.Popen(
        [sys.executable, __file__, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
