"""A broker under test: where it is, which process it is, and the topics that the workloads need there."""

import itertools
import os
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench import requests
from bench.connection import Connection
from klamm.base.errors import ErrorCode
from klamm.base.ids import Uuid
from klamm.protocol.messages.create_topics import CreateTopicsResponse
from klamm.protocol.messages.delete_topics import DeleteTopicsResponse

KLAMM, REFERENCE = "klamm", "reference"

# A new topic may be known to the controller before the broker serves it.
_PATIENCE_SECONDS = 20.0
_POLL_SECONDS = 0.02
_numbers = itertools.count(1)
_ERROR_NAMES = {code.value: code.name for code in ErrorCode}


class Refused(Exception):
    """The broker answered with an error."""


@dataclass(frozen=True, slots=True)
class Target:
    """`pid` is None where the process is not to be seen; CPU and memory are then not reported."""

    name: str
    address: tuple[str, int]
    pid: int | None
    tls: ssl.SSLContext | None = None

    def connect(self) -> Connection:
        return Connection(self.address, self.tls)

    def create_topics(self, names: Sequence[str], *, partitions: int) -> list[Uuid]:
        """Their ids."""
        frame = requests.create_topics_frame(names, partitions=partitions)
        connection = self.connect()
        answer = connection.call(frame, CreateTopicsResponse, requests.CREATE_TOPICS_VERSION)
        connection.close()
        for topic in answer.topics:
            check(topic.error_code, f"creating {topic.name}")
        return [topic.topic_id for topic in answer.topics]

    def delete_topics(self, names: Sequence[str]) -> None:
        connection = self.connect()
        frame = requests.delete_topics_frame(names)
        answer = connection.call(frame, DeleteTopicsResponse, requests.DELETE_TOPICS_VERSION)
        connection.close()
        for topic in answer.responses:
            check(topic.error_code, f"deleting {topic.name}")


def new_topic_name() -> str:
    """Nobody else's, even on a broker that others use: the process id is in it."""
    return f"bench-{os.getpid()}-{next(_numbers)}"


def check(error_code: int, what: str) -> None:
    if error_code:
        raise Refused(f"{what}: {_ERROR_NAMES.get(error_code, error_code)}")


def until_it_works(attempt: Callable[[], object]) -> None:
    """Repeat what a broker cannot do yet."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            attempt()
            return
        except Refused:
            if time.monotonic() > deadline:
                raise
        time.sleep(_POLL_SECONDS)
