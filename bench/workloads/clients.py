"""Clients that people use instead of raw sockets: confluent-kafka, and Kafka's own ProducerPerformance and ConsumerPerformance.

A "request" is a record here. The clock is the client's own and begins with its first record; the broker's CPU is that of
the whole run, from the client's first connection to its last.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from bench.figures import Figure, Figures
from bench.processes import Unready, cpu_seconds
from bench.target import Refused, Target, new_topic_name, until_it_works
from bench.workload import Workload

# Where the Java clients are: the folder of Apache Kafka's jars, `libs` in its distribution.
LIBS_VARIABLE = "KAFKA_LIBS"

_PARTITIONS = 4
_RECORD_BYTES = 1_000
# About what one client does in a second: rounds of one second are to be that long.
_RECORDS_PER_SECOND = 300_000
_PATIENCE_SECONDS = 120.0
_JAVA_TOOLS = "org.apache.kafka.tools"


class ClientLoad:
    """A topic, and what one client does with it: `work` gives the seconds that it took for so many records."""

    def __init__(
        self, target: Target, work: Callable[[str, str, int], float], *, reads: bool
    ) -> None:
        self._target = target
        self._work = work
        self._reads = reads
        self._address = "{}:{}".format(*target.address)
        self._topic = ""
        self._filled = 0

    def measure(self, seconds: float) -> Figures:
        count = max(1, round(seconds * _RECORDS_PER_SECOND))
        if not self._reads or self._filled != count:
            # Who writes gets a new topic each time, so that the disk holds no more than one round.
            self._renew()
        if self._reads and self._filled != count:
            confluent_produce(self._address, self._topic, count)
            self._filled = count
        before = self._cpu()
        took = self._work(self._address, self._topic, count)
        spent = self._cpu() - before
        figures = {
            Figure.REQUESTS_PER_SECOND: count / took,
            Figure.MEGABYTES_PER_SECOND: count * _RECORD_BYTES / took / 1e6,
        }
        if self._target.pid is not None:
            figures[Figure.CPU_US_PER_REQUEST] = spent / count * 1e6
            figures[Figure.CPU_SECONDS_PER_GB] = spent / (count * _RECORD_BYTES / 1e9)
        return figures

    def close(self) -> None:
        if self._topic:
            self._target.delete_topics([self._topic])

    def _renew(self) -> None:
        self.close()
        self._topic = new_topic_name()
        until_it_works(partial(self._target.create_topics, [self._topic], partitions=_PARTITIONS))

    def _cpu(self) -> float:
        return 0.0 if self._target.pid is None else cpu_seconds(self._target.pid)


def confluent_produce(address: str, topic: str, count: int) -> float:
    producer = Producer(
        {"bootstrap.servers": address, "acks": "all", "queue.buffering.max.messages": 1_000_000}
    )
    value = os.urandom(_RECORD_BYTES)
    began = time.perf_counter()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, value, partition=number % _PARTITIONS)
                break
            except BufferError:
                producer.poll(0.01)
    if left := producer.flush(_PATIENCE_SECONDS):
        raise Refused(f"only {count - left} of {count} records were taken")
    return time.perf_counter() - began


def confluent_consume(address: str, topic: str, count: int) -> float:
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": topic, "enable.auto.commit": False}
    )
    try:
        consumer.assign([TopicPartition(topic, index, 0) for index in range(_PARTITIONS)])
        deadline = time.monotonic() + _PATIENCE_SECONDS
        seen = len(_first(consumer, deadline))
        began = time.perf_counter()
        while seen < count:
            if time.monotonic() > deadline:
                raise Refused(f"only {seen} of {count} records came")
            seen += len(consumer.consume(10_000, 1.0))
        return time.perf_counter() - began
    finally:
        consumer.close()


def _first(consumer: Consumer, deadline: float) -> list[Message]:
    """The clock begins with them: to find the broker is not what is measured."""
    while time.monotonic() < deadline:
        if messages := consumer.consume(1, 1.0):
            return messages
    raise Refused("no record came")


def java_produce(address: str, topic: str, count: int) -> float:
    said = _java(
        "ProducerPerformance", "--bootstrap-server", address, "--topic", topic, "--num-records", str(count),
        "--record-size", str(_RECORD_BYTES), "--throughput", "-1", "--command-property", "acks=all",
    )  # fmt: skip
    # "300000 records sent, 123456.7 records/sec (117.7 MB/sec), ..."
    sent, rate = said[-1].split(", ")[:2]
    if sent.split()[0] != str(count):
        raise Refused(f"ProducerPerformance: {said[-1]}")
    return count / float(rate.split()[0])


def java_consume(address: str, topic: str, count: int) -> float:
    said = _java(
        "ConsumerPerformance", "--bootstrap-server", address, "--topic", topic, "--num-records", str(count),
        "--group", new_topic_name(),
    )  # fmt: skip
    figures = dict(zip(*(line.split(", ") for line in said[-2:]), strict=True))
    if int(figures["data.consumed.in.nMsg"]) < count:
        raise Refused(f"ConsumerPerformance: {said[-1]}")
    # Without the time in which the group came together.
    return float(figures["fetch.time.ms"]) / 1e3


def _java(tool: str, *arguments: str) -> list[str]:
    """What one of Kafka's tools printed."""
    libs, java = os.environ.get(LIBS_VARIABLE, ""), shutil.which("java")
    if not libs or not Path(libs).is_dir() or java is None:
        raise Unready(
            f"{tool} needs java, and Apache Kafka's jars in the folder that {LIBS_VARIABLE} names"
        )
    command = [java, "-Xmx512M", "-cp", f"{libs}/*", f"{_JAVA_TOOLS}.{tool}", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False
    )
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise Refused(f"{tool} ended with {done.returncode}: {done.stderr.strip()}")
    return lines


def _workload(
    name: str, about: str, work: Callable[[str, str, int], float], *, reads: bool
) -> Workload:
    return Workload(name, about, partial(ClientLoad, work=work, reads=reads), is_real_client=True)


JAVA_PRODUCE = _workload("java-produce", "ProducerPerformance, acks all", java_produce, reads=False)
JAVA_CONSUME = _workload(
    "java-consume", "ConsumerPerformance, in a group", java_consume, reads=True
)
CONFLUENT_PRODUCE = _workload(
    "confluent-produce", "confluent-kafka, acks all", confluent_produce, reads=False
)
CONFLUENT_CONSUME = _workload(
    "confluent-consume", "confluent-kafka, assigned", confluent_consume, reads=True
)
