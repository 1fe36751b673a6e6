"""Fetching from a log that is in the page cache: fetch64k, fetch1m."""

from collections.abc import Sequence
from functools import partial

from bench import requests
from bench.connection import Connection, UnexpectedAnswer
from bench.figures import Figures
from bench.load import Lane, Run, run_lanes
from bench.metering import metered
from bench.target import Target, check, new_topic_name, until_it_works
from bench.workload import Workload
from bench.workloads.produce import ACKS_LEADER, batch_below, produce_once
from klamm.base.ids import Uuid
from klamm.protocol.messages.fetch import FetchResponse

_LANES = 4
_PARTITION_BYTES = 16 * 1024 * 1024
_BATCH_BYTES = 64 * 1024
# Time alone ends a round.
_NO_LIMIT = 1 << 62


class FetchLoad:
    """Each lane reads its own partition from the start to near the end, and again from the start."""

    def __init__(self, target: Target, *, max_bytes: int) -> None:
        self._target = target
        self._max_bytes = max_bytes
        self._topic = new_topic_name()
        (topic_id,) = target.create_topics([self._topic], partitions=_LANES)
        batch = batch_below(_BATCH_BYTES)
        # Whole batches: what an answer may hold behind them, the beginning of another, no client can use.
        self._batches = max(1, max_bytes // len(batch))
        self._useful_bytes = self._batches * len(batch)
        self._lanes = [self._lane(topic_id, index, batch) for index in range(_LANES)]

    def _lane(self, topic_id: Uuid, index: int, batch: bytes) -> Lane:
        connection = self._target.connect()
        frame = requests.produce_frame(topic_id, index, batch, acks=ACKS_LEADER)
        until_it_works(partial(produce_once, connection, frame))
        count = _PARTITION_BYTES // len(batch)
        offsets = [produce_once(connection, frame) for _ in range(count)]
        # So far from the end that there is always a full answer; behind one another, as a consumer would.
        full = offsets[: -self._batches - 1 : self._batches]
        return self._checked(Lane(connection, self._frames(topic_id, index, full), _SAME_BYTES))

    def _frames(self, topic_id: Uuid, index: int, offsets: Sequence[int]) -> list[bytes]:
        return [
            requests.fetch_frame(topic_id, index, offset, max_bytes=self._max_bytes)
            for offset in offsets
        ]

    def _checked(self, lane: Lane) -> Lane:
        records = fetch_once(lane.connection, lane.frames[0])
        if not self._useful_bytes <= len(records) <= self._max_bytes:
            raise UnexpectedAnswer(f"fetched {len(records)} bytes, not {self._useful_bytes}")
        lane.learn()
        return lane

    def measure(self, seconds: float) -> Figures:
        return metered(self._target, partial(self._run, seconds))

    def _run(self, seconds: float) -> Run:
        run = run_lanes(self._lanes, seconds, max_requests=_NO_LIMIT)
        run.payload_bytes = run.requests * self._useful_bytes
        return run

    def close(self) -> None:
        for lane in self._lanes:
            lane.connection.close()
        self._target.delete_topics([self._topic])


def fetch_once(connection: Connection, frame: bytes) -> bytes:
    """The records, as they are."""
    answer = connection.call(frame, FetchResponse, requests.FETCH_VERSION)
    check(answer.error_code, "fetching")
    partition = answer.responses[0].partitions[0]
    check(partition.error_code, "fetching")
    return bytes(partition.records or b"")


def _fetch(max_bytes: int, target: Target) -> FetchLoad:
    return FetchLoad(target, max_bytes=max_bytes)


_SAME_BYTES = requests.FETCH_SAME_BYTES

FETCH64K = Workload(
    "fetch64k", "4 connections, 64 KiB answers, warm log", partial(_fetch, 64 * 1024)
)
FETCH1M = Workload(
    "fetch1m", "4 connections, 1 MiB answers, warm log", partial(_fetch, 1024 * 1024)
)
