"""SIGKILL for a driver of its own, which runs the same file on the same checkpoint."""

import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from chaos.pipeline.job import Job
from chaos.pipeline.processes import DriverProcess
from chaos.pipeline.waiting import until
from chaos.real.client import Client

from fuzz.pipelines.drawing.case import Case
from fuzz.pipelines.faults import Fault
from fuzz.pipelines.running import SPILL, USERLAND
from klamm.protocol.messages.list_transactions import ListTransactionsRequest

_SECONDS = 300.0
_MOMENT_SECONDS = 0.01
_DRIVER = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@dataclass(frozen=True, slots=True)
class Killer:
    """The moment: when a transaction is open or a batch is done, or a little later."""

    broker: tuple[str, int]
    warehouse: Path

    def __call__(self, case: Case, run: int, fault: Fault) -> None:
        job = Job(name=case.name, home=case.home, warehouse=self.warehouse)
        spills = {SPILL: str(case.spill_after)} if case.spill_after else {}
        facts = case.facts(run)
        facts["options"] = {**facts["options"], **_DRIVER, **spills}
        job.file.write_text(json.dumps(facts))
        for module in USERLAND.glob("*.py"):
            shutil.copy(module, case.home)
        host, port = self.broker
        driver = DriverProcess(job, bootstrap=f"{host}:{port}", master="local[2]")
        driver.start()
        try:
            self._wait(driver)
            # Each quarter of them comes later.
            time.sleep(fault.at * 0.15)
        finally:
            driver.kill()

    def _wait(self, driver: DriverProcess) -> None:
        with Client(self.broker) as client:

            def is_time() -> bool:
                driver.check()
                answer = client.ask(ListTransactionsRequest(state_filters=["Ongoing"]))
                return bool(answer.transaction_states) or bool(driver.batches())

            until(
                is_time,
                "something is written",
                seconds=_SECONDS,
                seen=driver.log,
                every=_MOMENT_SECONDS,
            )
