"""What doing nothing costs, with many partitions and many connections: idle.

It takes a broker of its own: one that has worked before has memory to spare, which would hide what is measured.
"""

import time

from bench import requests
from bench.connection import Connection
from bench.figures import Figure, Figures
from bench.processes import KlammProcess, cpu_seconds, rss_bytes
from bench.target import KLAMM, Target, new_topic_name
from bench.workload import Workload
from klamm.protocol.messages.metadata import MetadataResponse

PARTITIONS = 4_000
CONNECTIONS = 1_000

_PARTITIONS_PER_TOPIC = 100
# Long enough for what a broker does every now and then.
_IDLE_SECONDS = 5.0


class IdleLoad:
    def __init__(self, target: Target) -> None:
        self._klamm = KlammProcess()
        self._target = Target(KLAMM, self._klamm.address, self._klamm.pid)
        self._connections: list[Connection] = []

    def measure(self, seconds: float) -> Figures:
        pid = self._klamm.pid
        empty = rss_bytes(pid)
        for _ in range(PARTITIONS // _PARTITIONS_PER_TOPIC):
            self._target.create_topics([new_topic_name()], partitions=_PARTITIONS_PER_TOPIC)
        with_partitions = rss_bytes(pid)
        self._connections = [self._connect() for _ in range(CONNECTIONS)]
        with_both = rss_bytes(pid)
        before = cpu_seconds(pid)
        time.sleep(_IDLE_SECONDS)
        idle_cpu = cpu_seconds(pid) - before
        return {
            Figure.RSS_MB: with_both / 1e6,
            Figure.RSS_KB_PER_PARTITION: (with_partitions - empty) / PARTITIONS / 1e3,
            Figure.RSS_KB_PER_CONNECTION: (with_both - with_partitions) / CONNECTIONS / 1e3,
            Figure.IDLE_CPU_MS_PER_SECOND: idle_cpu / _IDLE_SECONDS * 1e3,
        }

    def _connect(self) -> Connection:
        """Each asks something, so that the broker has really met it."""
        connection = self._target.connect()
        connection.call(requests.metadata_frame([]), MetadataResponse, requests.METADATA_VERSION)
        return connection

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        self._klamm.stop()


IDLE = Workload(
    "idle",
    f"{PARTITIONS:,} partitions and {CONNECTIONS:,} connections at rest",
    IdleLoad,
    warms_up=False,
    max_rounds=1,
    is_own_broker=True,
    is_big=True,
)
