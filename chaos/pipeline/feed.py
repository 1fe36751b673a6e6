"""Feeds the pipeline while it runs, whatever happens to the broker: every number once."""

import json
import threading
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaError, Message, Producer

from chaos.pipeline import job

_TICK_SECONDS = 0.05
_FLUSH_SECONDS = 300.0


class Feed:
    """Clicks with the numbers 0, 1, 2, ... in a thread of its own. Used as a context; what was sent has arrived then."""

    def __init__(self, bootstrap: str, *, per_second: int = 200) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "linger.ms": 20,
                # A record that the dead broker had taken must not be there twice, or the pipeline would be blamed.
                "enable.idempotence": True,
                "message.timeout.ms": int(_FLUSH_SECONDS * 1000),
                "reconnect.backoff.max.ms": 500,
                # Silence: it is told of every refused connection otherwise.
                "log_level": 0,
            }
        )
        self._per_tick = max(1, round(per_second * _TICK_SECONDS))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feed")
        self._failed: list[str] = []
        self.count = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        if kind is None:
            self._flush()

    def _run(self) -> None:
        while not self._over.wait(_TICK_SECONDS):
            for _ in range(self._per_tick):
                value = json.dumps(job.click(self.count)).encode()
                partition = self.count % job.PARTITIONS
                self._producer.produce(
                    job.SOURCE, value, partition=partition, on_delivery=self._delivered
                )
                self.count += 1
            self._producer.poll(0)

    def _flush(self) -> None:
        left = self._producer.flush(_FLUSH_SECONDS)
        assert not left, f"{left} records did not reach the broker"
        assert not self._failed, self._failed[0]

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._failed.append(error.str())
