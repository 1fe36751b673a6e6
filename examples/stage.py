"""Where an example plays: a broker, topics with generated records, a Spark session, a pipeline that is run once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from klamm.cli.connect import check_reachable
from klamm.cli.output import CommandError
from klamm.pipeline.jars import Use, Watcher
from klamm.pipeline.place import Place
from klamm.pipeline.spec import Pipeline, filled, parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row: TypeAlias = dict[str, Any]

# Far more than any answer takes: past it something is broken.
PATIENCE_SECONDS = 60.0
_STOP_SECONDS = 20.0
# To the producer: the partition that it chooses itself.
_ANY = -1


class Trouble(Exception):
    """The example cannot go on. The text is for the user."""


@dataclass(frozen=True, slots=True)
class Record:
    key: str | None
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()
    # Where and when it is to be, or was; None leaves that to the producer.
    partition: int | None = None
    timestamp_ms: int | None = None


def as_json(key: str | None, **fields: object) -> Record:
    """A record whose value is a JSON object; times are written as Spark reads them."""
    return Record(key, json.dumps(fields, default=lambda time: time.isoformat()).encode())


@dataclass(frozen=True, slots=True)
class Stage:
    """Where an example plays: a cluster, a Spark session, and a folder for checkpoints and for files of its own."""

    bootstrap: str
    spark: SparkSession
    folder: Path

    def create(
        self, *topics: str, partitions: int = 2, config: Mapping[str, str] | None = None
    ) -> None:
        """New topics. Those of an earlier run would spoil the result, so they are not used again."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        there = admin.list_topics(timeout=PATIENCE_SECONDS).topics
        if old := [topic for topic in topics if topic in there]:
            raise Trouble(
                f"the topic {old[0]} is there already: remove it with "
                f"`klamm topic delete {' '.join(old)}`, or leave out -b for a broker of its own"
            )
        wanted = [NewTopic(topic, partitions, 1, config=dict(config or {})) for topic in topics]
        for made in admin.create_topics(wanted).values():
            made.result(PATIENCE_SECONDS)

    def send(self, topic: str, records: Iterable[Record]) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 20})
        for record in records:
            producer.produce(
                topic,
                record.value,
                record.key,
                partition=_ANY if record.partition is None else record.partition,
                timestamp=record.timestamp_ms or 0,
            )
        if producer.flush(PATIENCE_SECONDS):
            raise Trouble(f"{self.bootstrap} does not take the records of {topic}")

    def run(self, file: Path, **environment: str) -> None:
        """All that is there now goes through the pipeline, as by `klamm pipeline run FILE --once`."""
        from klamm.pipeline.running.queries import start

        pipeline = pipeline_in(file, **environment)
        for query in start(self.spark, pipeline, self._place(pipeline), once=True):
            query.wait()

    def retry_dead_letters(self, file: Path) -> int:
        """How many were sent again, as by `klamm pipeline retry-dead-letters FILE --execute`."""
        from klamm.pipeline.quality.retrying import Wanted, retry_dead_letters

        pipeline = pipeline_in(file)
        assert pipeline.dead_letter is not None
        wanted = Wanted(pipeline=pipeline.name, topic=pipeline.dead_letter)
        return retry_dead_letters(self._place(pipeline), wanted, execute=True).sent

    def _place(self, pipeline: Pipeline) -> Place:
        return Place(
            bootstrap=self.bootstrap,
            checkpoint=str(self.folder / "checkpoints" / pipeline.name),
            warehouse=self.spark.conf.get("spark.sql.catalog.lake.warehouse") or "",
        )

    def records(self, topic: str) -> list[Record]:
        """All that a careful reader finds in a topic now, partition by partition."""
        return list(_read(self.bootstrap, topic))

    def values(self, topic: str) -> list[Row]:
        """The JSON values of a topic, with times as times."""
        return [with_times(json.loads(record.value)) for record in self.records(topic)]

    def table(self, name: str) -> list[Row]:
        """The rows of a table of the lake."""
        return rows_of(self.spark, f"SELECT * FROM lake.default.{name}")


def pipeline_in(file: Path, **environment: str) -> Pipeline:
    return filled(parse(file.read_text(), file.name), {**os.environ, **environment})


def rows_of(spark: SparkSession, sql: str) -> list[Row]:
    found: list[Row] = spark.sql(sql).toArrow().to_pylist()
    return [{name: _in_utc(value) for name, value in row.items()} for row in found]


def _in_utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value


def with_times(row: Row) -> Row:
    return {name: _as_time(value) for name, value in row.items()}


def _as_time(value: Any) -> Any:
    if not isinstance(value, str) or len(value) < len("2026-01-01T00:00:00Z"):
        return value
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except ValueError:
        return value


@contextmanager
def a_stage(
    name: str, bootstrap: str | None, *, uses: Sequence[Use], watch: Watcher
) -> Iterator[Stage]:
    """For one example alone: its own broker unless there is one, its own Spark."""
    if bootstrap is not None:
        try:
            check_reachable(bootstrap)
        except CommandError as failure:
            raise Trouble(f"{failure.what}: {failure.why}") from failure
    try:
        from klamm.pipeline.session import SessionSettings, a_session
    except ImportError as missing:
        raise Trouble(
            f"{missing.name} is not installed: pip install 'klamm[pipeline]'"
        ) from missing

    with (
        tempfile.TemporaryDirectory(prefix=f"klamm-{name}-") as folder,
        nullcontext(bootstrap) if bootstrap else running_klamm() as address,
    ):
        print("Spark starts, which takes some seconds ...", file=sys.stderr, flush=True)
        warehouse = str(Path(folder, "lake"))
        settings = SessionSettings(name=name, uses=uses, warehouse=warehouse)
        with a_session(settings, watch=watch) as spark:
            yield Stage(address, spark, Path(folder))


@contextmanager
def running_klamm() -> Iterator[str]:
    """A broker in memory, on a free port, gone at the end."""
    klamm = Path(sys.executable).with_name("klamm")
    options = ("--memory", "--port", "0", "--json", "--log-level", "error")
    command = [str(klamm), "serve", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise Trouble("the broker did not start")
            yield str(json.loads(line)["address"])
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _read(bootstrap: str, topic: str) -> Iterator[Record]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "examples",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    try:
        partitions = consumer.list_topics(topic, PATIENCE_SECONDS).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        left = len(partitions)
        while left:
            message = consumer.poll(PATIENCE_SECONDS)
            if message is None:
                raise Trouble(f"the records of {topic} do not come")
            if message.error() is not None:
                left -= 1  # the end of a partition
                continue
            key = message.key()
            headers = cast("list[tuple[str, bytes]]", message.headers() or [])
            yield Record(
                None if key is None else key.decode(),
                message.value() or b"",
                headers=tuple(headers),
                partition=message.partition(),
                timestamp_ms=message.timestamp()[1],
            )
    finally:
        consumer.close()
