"""A program with a session in which tasks have three attempts. The first ones fail on purpose.

Its arguments are the broker's address, the topic and a folder in which each failure leaves an empty file. One task dies when its part is in the topic and nobody knows; the
other one in the middle of its records.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from pyspark import TaskContext

from klamm.pipeline.place import Place
from klamm.pipeline.session import SessionSettings, open_session
from klamm.pipeline.sinks import topic as topic_module
from klamm.pipeline.sinks.making import make_sink
from klamm.pipeline.sinks.parts import PartWriter
from klamm.pipeline.sinks.transaction import Columns
from klamm.pipeline.spec import Delivery, TopicSink

failures = Path()


class Flaky(PartWriter):
    def write(self, part: int, records: Iterable[Columns]) -> bool:
        context = TaskContext.get()
        if context is None or context.attemptNumber() > 0:
            return super().write(part, records)
        (failures / f"part-{part}").touch()
        if part == 1:
            records = _breaking(records)
        super().write(part, records)
        raise ZeroDivisionError("the report is lost")


def _breaking(records: Iterable[Columns]) -> Iterator[Columns]:
    yield from records
    raise ZeroDivisionError("in the middle")


def main() -> None:
    global failures
    bootstrap, topic, folder = sys.argv[1:]
    failures = Path(folder)
    topic_module.PartWriter = Flaky  # type: ignore[misc]
    spark = open_session(
        SessionSettings(name="flaky", master="local[2,3]", uses=(), driver_memory="512m")
    )
    place = Place(bootstrap=bootstrap, checkpoint="", warehouse="")
    sink = make_sink(
        spark, TopicSink(topic=topic, key="user", writers=2), place, Delivery.EXACTLY_ONCE
    )
    sink.open("flaky")
    sink.write(spark.range(100).selectExpr("concat('user-', id) AS user"), 0)
    sink.close()
    spark.stop()


if __name__ == "__main__":
    main()
