"""Producing: small1, small16, batch64k, batch1m."""

from functools import partial

from bench import requests
from bench.connection import Connection
from bench.figures import Figures
from bench.load import Lane, Run, run_lanes
from bench.metering import metered
from bench.target import Target, check, new_topic_name, until_it_works
from bench.workload import Workload
from klamm.protocol.messages.produce import ProduceResponse

ACKS_LEADER, ACKS_ALL = 1, -1

# One record's value, and how much a varint-framed record adds to it at most.
_RECORD_BYTES = 1000
_RECORD_OVERHEAD = 16
# A round never writes more: a fast broker would fill the disk, and the page cache before that.
_MAX_ROUND_BYTES = 1_000_000_000


def batch_below(size: int) -> bytes:
    """A batch of records of 1,000 bytes that fits in this size."""
    return requests.batch_of((size - 100) // (_RECORD_BYTES + _RECORD_OVERHEAD), _RECORD_BYTES)


class ProduceLoad:
    """Lanes spread over the partitions; each sends the same batch again and again."""

    def __init__(
        self, target: Target, *, lanes: int, partitions: int, batch: bytes, acks: int
    ) -> None:
        self._target = target
        self._topic = new_topic_name()
        self._batch_size = len(batch)
        (topic_id,) = target.create_topics([self._topic], partitions=partitions)
        frames = [
            requests.produce_frame(topic_id, index, batch, acks=acks) for index in range(partitions)
        ]
        self._lanes = [
            Lane(target.connect(), [frames[i % partitions]], requests.PRODUCE_SAME_BYTES)
            for i in range(lanes)
        ]
        for lane in self._lanes:
            until_it_works(partial(produce_once, lane.connection, lane.frames[0]))
            lane.learn()

    def measure(self, seconds: float) -> Figures:
        return metered(self._target, partial(self._run, seconds))

    def _run(self, seconds: float) -> Run:
        most = _MAX_ROUND_BYTES // self._batch_size
        run = run_lanes(self._lanes, seconds, max_requests=most)
        run.payload_bytes = run.requests * self._batch_size
        return run

    def close(self) -> None:
        for lane in self._lanes:
            lane.connection.close()
        self._target.delete_topics([self._topic])


def produce_once(connection: Connection, frame: bytes) -> int:
    """The offset that the batch got."""
    answer = connection.call(frame, ProduceResponse, requests.PRODUCE_VERSION)
    partition = answer.responses[0].partition_responses[0]
    check(partition.error_code, "producing")
    return partition.base_offset


def _small(lanes: int, partitions: int, target: Target) -> ProduceLoad:
    batch = requests.batch_of(1, 100)
    return ProduceLoad(target, lanes=lanes, partitions=partitions, batch=batch, acks=ACKS_LEADER)


def _batches(size: int, target: Target) -> ProduceLoad:
    return ProduceLoad(target, lanes=4, partitions=4, batch=batch_below(size), acks=ACKS_ALL)


SMALL1 = Workload("small1", "1 connection, 1 record of 100 bytes, acks 1", partial(_small, 1, 1))
SMALL16 = Workload(
    "small16", "16 connections, 4 partitions, 1 record of 100 bytes, acks 1", partial(_small, 16, 4)
)
BATCH64K = Workload(
    "batch64k", "4 connections, 64 KiB batches, acks all", partial(_batches, 64 * 1024)
)
BATCH1M = Workload(
    "batch1m", "4 connections, 1 MiB batches, acks all", partial(_batches, 1024 * 1024)
)
