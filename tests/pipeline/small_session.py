"""A Spark session as small as it gets: other tests run beside it."""

from klamm.pipeline.jars import Use
from klamm.pipeline.session import SessionSettings


def small_session(warehouse: str) -> SessionSettings:
    return SessionSettings(
        name="test",
        # One task at a time, and each may fail twice.
        master="local[1,3]",
        uses=tuple(Use),
        warehouse=warehouse,
        driver_memory="1g",
        options={"spark.sql.shuffle.partitions": "1"},
    )
