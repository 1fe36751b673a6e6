"""kill -9 under load, start, read everything back; again and again on the same data.

A killed process loses nothing that it wrote, since the page cache lives on; so whatever was acknowledged must be there,
flushed or not. Power failures are the business of chaos.power.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import NamedTuple

from chaos.real.broker import BrokerProcess
from chaos.real.client import Client
from chaos.real.producer import Place, Producer
from chaos.real.verdict import Verdict, judge, read_everything

# Everything that a broker does by the clock happens several times in a cycle.
_SETTINGS = {
    "log.flush.offset.checkpoint.interval.ms": 150,
    "log.flush.scheduler.interval.ms": 70,
    "log.retention.check.interval.ms": 100,
    "log.initial.task.delay.ms": 50,
    "replica.high.watermark.checkpoint.interval.ms": 130,
}
_TOPICS: dict[str, dict[str, object]] = {
    "plain": {},
    "rolling": {"segment_ms": 200},
    "flushed": {"flush_messages": 1},
}
_PLACES = [Place("plain", 0), Place("plain", 1), Place("rolling", 0), Place("flushed", 0)]
# How long the load lasts before the kill.
_SHORTEST, _LONGEST = 0.1, 0.5
# Every so often the broker dies again before it is up.
_KILLED_WHILE_STARTING = 0.2


class Cycle(NamedTuple):
    number: int
    seconds: float
    verdict: Verdict


class KillCycles:
    def __init__(self, home: Path, *, seed: int = 0) -> None:
        self.broker = BrokerProcess(home, settings=_SETTINGS)
        self.producers = [Producer(place, seed + i) for i, place in enumerate(_PLACES)]
        self._rng = Random(seed)

    def run(self, cycles: int, tell: Callable[[Cycle], None]) -> Verdict:
        """Ends early at the first cycle that is not good; then the data is left for a look."""
        self.broker.start()
        try:
            with Client(self.broker.address) as client:
                for name, configs in _TOPICS.items():
                    client.create_topic(name, sum(p.topic == name for p in _PLACES), **configs)
            verdict = Verdict()
            for number in range(1, cycles + 1):
                began = time.monotonic()
                self._load_and_kill()
                self._start_again()
                verdict = self._read_back(finish=number == cycles)
                tell(Cycle(number, time.monotonic() - began, verdict))
                if not verdict.is_good:
                    break
            return verdict
        finally:
            self.broker.kill()

    def _load_and_kill(self) -> None:
        with ThreadPoolExecutor(len(self.producers)) as threads:
            running = [threads.submit(each.run, self.broker.address) for each in self.producers]
            time.sleep(self._rng.uniform(_SHORTEST, _LONGEST))
            self.broker.kill()
        for each in running:
            each.result()

    def _start_again(self) -> None:
        if self._rng.random() < _KILLED_WHILE_STARTING:
            self.broker.start_and_be_killed(self._rng.uniform(0.05, 0.5))
        self.broker.start()

    def _read_back(self, *, finish: bool) -> Verdict:
        if finish:
            for producer in self.producers:
                producer.finish(self.broker.address)
        with Client(self.broker.address) as client:
            return judge(self.producers, read_everything(client, _PLACES))
