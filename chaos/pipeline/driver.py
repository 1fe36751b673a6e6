"""The driver in a process of its own, to be killed: `python -m chaos.pipeline.driver NAME HOME WAREHOUSE BOOTSTRAP MASTER`.

It runs the pipeline file in HOME until SIGTERM, and prints a line of JSON for each batch and each notice.
"""

import json
import signal
import sys
import threading
from pathlib import Path

from chaos.pipeline.job import Job
from klamm.pipeline.failures.trouble import PipelineFailed
from klamm.pipeline.running.progress import Report
from klamm.pipeline.running.run import run
from klamm.pipeline.spec import parse


def main(name: str, home: str, warehouse: str, bootstrap: str, master: str) -> int:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    job = Job(name=name, home=Path(home), warehouse=Path(warehouse))
    try:
        run(
            parse(job.file.read_text(), str(job.file)),
            bootstrap=bootstrap,
            master=master,
            checkpoint=str(job.checkpoint),
            warehouse=str(job.warehouse),
            folder=job.home,
            watch=_BatchTeller(),
            notice=lambda text: _tell(notice=text),
            stop=stop,
        )
    except PipelineFailed as failure:
        _tell(failed=str(failure))
        return failure.exit_code
    return 0


def _tell(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


class _BatchTeller:
    """Reports come by the clock; a line is printed when a batch of a query has ended since the last one."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def __call__(self, report: Report) -> None:
        for query in report.queries:
            if query.batch_id is not None and query.batch_id != self._last.get(query.name):
                self._last[query.name] = query.batch_id
                _tell(batch=query.batch_id)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
