"""Many partitions: metadata (told about), create (made)."""

import time
from functools import partial

from bench import requests
from bench.figures import Figures
from bench.load import Lane, Run, run_lanes
from bench.metering import metered
from bench.target import Refused, Target, check, new_topic_name, until_it_works
from bench.workload import Workload
from klamm.protocol.messages.create_topics import CreateTopicsResponse
from klamm.protocol.messages.metadata import MetadataResponse

TOPICS = 100
PARTITIONS_PER_TOPIC = 10

_NO_LIMIT = 1 << 62


class MetadataLoad:
    """One connection asks for all the topics by name, again and again."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._topics = [new_topic_name() for _ in range(TOPICS)]
        target.create_topics(self._topics, partitions=PARTITIONS_PER_TOPIC)
        connection = target.connect()
        frame = requests.metadata_frame(self._topics)
        self._lane = Lane(connection, [frame], same_bytes=0)
        until_it_works(self._ask)
        # Nothing changes between two requests, so every answer is the same to the last byte.
        self._lane.same_bytes = len(connection.answer)
        self._lane.learn()

    def _ask(self) -> None:
        answer = self._lane.connection.call(
            self._lane.frames[0], MetadataResponse, requests.METADATA_VERSION
        )
        for topic in answer.topics:
            check(topic.error_code, "asking for metadata")
            if len(topic.partitions) != PARTITIONS_PER_TOPIC:
                raise Refused(f"{topic.name} has {len(topic.partitions)} partitions")
            for partition in topic.partitions:
                check(partition.error_code, "asking for metadata")

    def measure(self, seconds: float) -> Figures:
        return metered(self._target, partial(self._run, seconds))

    def _run(self, seconds: float) -> Run:
        return run_lanes([self._lane], seconds, max_requests=_NO_LIMIT)

    def close(self) -> None:
        self._lane.connection.close()
        self._target.delete_topics(self._topics)


class CreateLoad:
    """Topics one after the other on one connection.

    They are deleted after the last round: where files were just deleted, ext4 is slow to make new ones.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._topics: list[str] = []

    def measure(self, seconds: float) -> Figures:
        """The work is always the same, however long it takes."""
        names = [new_topic_name() for _ in range(TOPICS)]
        self._topics += names
        return metered(self._target, partial(self._run, names))

    def _run(self, names: list[str]) -> Run:
        frames = [
            requests.create_topics_frame([name], partitions=PARTITIONS_PER_TOPIC) for name in names
        ]
        connection = self._target.connect()
        latencies = []
        began = time.perf_counter_ns()
        for name, frame in zip(names, frames, strict=True):
            sent = time.perf_counter_ns()
            answer = connection.call(frame, CreateTopicsResponse, requests.CREATE_TOPICS_VERSION)
            latencies.append(time.perf_counter_ns() - sent)
            check(answer.topics[0].error_code, f"creating {name}")
        seconds = (time.perf_counter_ns() - began) / 1e9
        connection.close()
        return Run(seconds, latencies)

    def close(self) -> None:
        self._target.delete_topics(self._topics)


METADATA = Workload(
    "metadata", f"1 connection, {TOPICS * PARTITIONS_PER_TOPIC:,} partitions", MetadataLoad
)
CREATE = Workload(
    "create",
    f"{TOPICS} topics of {PARTITIONS_PER_TOPIC} partitions, one after the other",
    CreateLoad,
    warms_up=False,
)
