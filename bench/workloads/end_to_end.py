"""From the send of a record to its arrival at a consumer that waits for it: e2e."""

import time
from functools import partial

from bench import requests
from bench.connection import UnexpectedAnswer
from bench.figures import Figures
from bench.load import Run, no_garbage_collection
from bench.metering import metered
from bench.target import Target, new_topic_name, until_it_works
from bench.workload import Workload
from bench.workloads.fetch import fetch_once
from bench.workloads.produce import ACKS_LEADER, produce_once

# Slow enough that the fetch is parked, and the broker at rest, before the next record comes.
_RECORDS_PER_SECOND = 500
_MAX_BYTES = 1024 * 1024
_MAX_WAIT_MS = 5_000


class EndToEndLoad:
    """One producer and one consumer on one partition, at a steady rate."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._topic = new_topic_name()
        (self._topic_id,) = target.create_topics([self._topic], partitions=1)
        self._producer = target.connect()
        self._consumer = target.connect()
        batch = requests.batch_of(1, 100)
        self._produce = requests.produce_frame(self._topic_id, 0, batch, acks=ACKS_LEADER)
        until_it_works(partial(produce_once, self._producer, self._produce))
        self._offset = 0
        fetch_once(self._consumer, self._next_fetch())
        # The consumer gets one record at a time, so all its answers are alike up to the error code.
        self._expected = bytes(self._consumer.answer[: requests.FETCH_SAME_BYTES])

    def measure(self, seconds: float) -> Figures:
        return metered(self._target, partial(self._run, seconds))

    def _run(self, seconds: float) -> Run:
        latencies = []
        with no_garbage_collection():
            began = time.perf_counter()
            for number in range(1, max(1, int(seconds * _RECORDS_PER_SECOND)) + 1):
                self._consumer.send(self._next_fetch())
                time.sleep(max(0.0, began + number / _RECORDS_PER_SECOND - time.perf_counter()))
                latencies.append(self._one_record())
            return Run(time.perf_counter() - began, latencies)

    def _one_record(self) -> int:
        sent = time.perf_counter_ns()
        self._producer.send(self._produce)
        self._consumer.receive()
        received = time.perf_counter_ns()
        if self._consumer.answer[: len(self._expected)] != self._expected:
            raise UnexpectedAnswer("the consumer got something else than the one record")
        self._producer.receive()
        return received - sent

    def _next_fetch(self) -> bytes:
        offset, self._offset = self._offset, self._offset + 1
        return requests.fetch_frame(
            self._topic_id, 0, offset, max_bytes=_MAX_BYTES, max_wait_ms=_MAX_WAIT_MS
        )

    def close(self) -> None:
        self._producer.close()
        self._consumer.close()
        self._target.delete_topics([self._topic])


E2E = Workload(
    "e2e", f"produce to a waiting fetch, {_RECORDS_PER_SECOND} records a second", EndToEndLoad
)
