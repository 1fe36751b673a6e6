"""A Spark session as small as it gets: other tests run beside it."""

from klamm.pipeline.jars import Use
from klamm.pipeline.session import SessionSettings


def small_session(warehouse: str) -> SessionSettings:
    return SessionSettings(
        name="test",
        master="local[1]",
        uses=tuple(Use),
        warehouse=warehouse,
        driver_memory="1g",
        options={"spark.sql.shuffle.partitions": "1"},
    )
