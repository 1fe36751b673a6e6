"""`python -m examples.etl`: new rows of a PostgreSQL table flow into a topic, totals flow back into another table."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from examples.etl.orders import Order, orders, totals_of
from examples.show import check, play, show_rows
from examples.stage import Row, Stage, Trouble
from klamm.pipeline.jars import Use

if TYPE_CHECKING:
    from pyspark.sql import DataFrameReader

PIPELINE = Path(__file__).with_name("pipeline.yaml")
SHOP = "SHOP_JDBC"
SOURCE, TARGET = "etl_orders", "etl_totals"
DRIVER = "org.postgresql.Driver"
_NEEDS = (
    f"it needs a PostgreSQL database: {SHOP}='jdbc:postgresql://HOST/DATABASE?user=...&password=...'"
    f" python -m examples.etl; the tables {SOURCE} and {TARGET} must not be there yet"
)


def show(stage: Stage, shop: str | None = None) -> None:
    shop = shop or os.environ.get(SHOP)
    if not shop:
        raise Trouble(_NEEDS)
    for table in (SOURCE, TARGET):
        if has_table(stage, shop, table):
            raise Trouble(f"the table {table} is there already: DROP TABLE {table}")
    stage.create("etl.orders")

    first = orders(1, range(1, 101))
    insert(stage, shop, first)
    stage.run(PIPELINE, SHOP_JDBC=shop)
    check(f"the table {TARGET}", read(stage, shop, TARGET), totals_of(first))

    later = orders(2, range(101, 131))
    insert(stage, shop, later)
    stage.run(PIPELINE, SHOP_JDBC=shop)

    totals = read(stage, shop, TARGET)
    title = f"{len(first)} orders, {len(later)} more later: totals of {len(totals)} customers"
    show_rows(title, sorted(totals, key=lambda row: str(row["customer"])))
    check(f"the table {TARGET}", totals, totals_of(first + later))
    check(
        "the topic etl.orders",
        stage.values("etl.orders"),
        ({"id": o.id, "customer": o.customer, "total": o.total} for o in first + later),
    )


def insert(stage: Stage, shop: str, rows: Sequence[Order]) -> None:
    data = [(row.id, row.customer, row.total) for row in rows]
    frame = stage.spark.createDataFrame(data, "id bigint, customer string, total decimal(10,2)")
    frame.write.jdbc(shop, SOURCE, mode="append", properties={"driver": DRIVER})


def read(stage: Stage, shop: str, table: str) -> list[Row]:
    found: list[Row] = _reader(stage, shop).option("dbtable", table).load().toArrow().to_pylist()
    return found


def has_table(stage: Stage, shop: str, table: str) -> bool:
    query = f"SELECT table_name FROM information_schema.tables WHERE table_name = '{table}'"
    return _reader(stage, shop).option("query", query).load().count() > 0


def _reader(stage: Stage, shop: str) -> DataFrameReader:
    return stage.spark.read.format("jdbc").option("url", shop).option("driver", DRIVER)


if __name__ == "__main__":
    if not os.environ.get(SHOP):
        print(f"examples.etl: {_NEEDS}", file=sys.stderr)
        sys.exit(1)
    uses = (Use.TOPICS, Use.ICEBERG, Use.POSTGRESQL)
    sys.exit(play("etl", show, description=__doc__, uses=uses))
