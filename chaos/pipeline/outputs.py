"""What the pipeline has left behind: the topics as a careful reader sees them, the table as Spark does."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from chaos.pipeline import job
from chaos.pipeline.processes import DriverProcess
from chaos.pipeline.waiting import until

SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """Numbers of rows. `lost`: inputs that are in no row; `doubled`: rows beyond the first; `wrong`: other content."""

    output: str
    inputs: int
    lost: int
    doubled: int
    wrong: int

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.doubled or self.wrong)

    def __str__(self) -> str:
        bad = f"lost={self.lost} doubled={self.doubled} wrong={self.wrong}"
        return f"{self.output}: inputs={self.inputs} {bad}"


def create_topics(bootstrap: str, *names: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    # As many replicas as the brokers make by themselves.
    topics = [NewTopic(name, job.PARTITIONS, -1) for name in names]
    for made in admin.create_topics(topics).values():
        made.result(SECONDS)


def judge(output: str, rows: Iterable[Mapping[str, Any]], inputs: set[int]) -> Verdict:
    """`inputs` must be there; what came after them may be, and none of it twice."""
    counts: Counter[int] = Counter()
    wrong = 0
    for row in rows:
        counts[row["id"]] += 1
        wrong += row != job.row(row["id"])
    return Verdict(
        output,
        inputs=len(inputs),
        lost=len(inputs - counts.keys()),
        doubled=counts.total() - len(counts),
        wrong=wrong,
    )


def ends(bootstrap: str) -> dict[int, int]:
    """How far the source topic goes."""
    reader = _reader(bootstrap)
    try:
        return {number: _end(reader, number) for number in range(job.PARTITIONS)}
    finally:
        reader.close()


def inputs_below(bootstrap: str, limits: Mapping[int, int]) -> set[int]:
    """The numbers that were fed up to there; each must be there once, or the feed is to blame."""
    found = [row["id"] for row in rows_of(bootstrap, job.SOURCE, limits)]
    assert len(found) == len(set(found)), "the source itself holds a number twice"
    return set(found)


def wait_until_processed(
    bootstrap: str, name: str, limits: Mapping[int, int], *, seconds: float, running: DriverProcess
) -> None:
    """The pipeline has committed these offsets to its group: it says that it is done with what is below."""
    group = Consumer({"bootstrap.servers": bootstrap, "group.id": f"pipeline.{name}"})
    asked = [TopicPartition(job.SOURCE, number) for number in limits]

    def committed() -> dict[int, int]:
        return {found.partition: found.offset for found in group.committed(asked, SECONDS)}

    def is_done() -> bool:
        now = committed()
        return all(now[number] >= limit for number, limit in limits.items())

    try:
        until(
            lambda: running.check() and is_done(),
            f"the pipeline is done with {dict(limits)}",
            seconds=seconds,
            seen=lambda: f"it has committed {committed()}\n{running.log()}",
        )
    finally:
        group.close()


def rows_of(
    bootstrap: str, topic: str, limits: Mapping[int, int] | None = None
) -> list[dict[str, Any]]:
    """All that a reader with read_committed is given, up to these offsets or to the end."""
    reader = _reader(bootstrap)
    try:
        numbers = range(job.PARTITIONS)
        open_ends = {n: limits[n] if limits else _end(reader, n, topic) for n in numbers}
        open_ends = {number: end for number, end in open_ends.items() if end > 0}
        reader.assign([TopicPartition(topic, number, 0) for number in open_ends])
        rows = []
        while open_ends:
            message = reader.poll(SECONDS)
            assert message is not None, f"{topic}: a transaction is still open"
            number, offset, value = message.partition(), message.offset(), message.value()
            assert number is not None
            if message.error() is not None:
                # The end of what is committed: markers of transactions may lie between it and the offset asked for.
                open_ends.pop(number, None)
            elif number in open_ends:
                assert offset is not None
                assert value is not None
                if offset < open_ends[number]:
                    rows.append(json.loads(value))
                if offset + 1 >= open_ends[number]:
                    del open_ends[number]
        return rows
    finally:
        reader.close()


def _reader(bootstrap: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "chaos-reader",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )


def _end(reader: Consumer, number: int, topic: str = job.SOURCE) -> int:
    _, end = reader.get_watermark_offsets(TopicPartition(topic, number), SECONDS)
    return int(end)
