"""A program that makes Spark load its classes: SQL, a table, a stream, Python. Its argument is a folder, gone afterwards."""

import shutil
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from klamm.pipeline.jars import Use
from klamm.pipeline.session import SessionSettings, open_session


def main(folder: Path) -> None:
    spark = open_session(
        SessionSettings(
            name="classes",
            master="local[1]",
            uses=(Use.TOPICS, Use.ICEBERG),
            warehouse=str(folder / "lake"),
            driver_memory="1g",
            options={"spark.sql.shuffle.partitions": "1"},
        )
    )
    ask(spark)
    stream(spark, folder)
    java = spark.sparkContext._gateway.proc
    spark.stop()
    # It writes the archive at its end, which PySpark does not wait for.
    java.stdin.close()
    java.wait()
    shutil.rmtree(folder)


def ask(spark: SparkSession) -> None:
    spark.sql("CREATE NAMESPACE lake.default")
    spark.sql("CREATE TABLE lake.default.t (n bigint, text string) USING iceberg")
    spark.sql("INSERT INTO lake.default.t SELECT id, concat('n', id) FROM range(5)")
    spark.sql("SELECT text, sum(n) AS n FROM lake.default.t GROUP BY text ORDER BY n").collect()


def stream(spark: SparkSession, folder: Path) -> None:
    def write(batch: DataFrame, _: int) -> None:
        batch.mapInArrow(lambda rows: rows, batch.schema).writeTo("lake.default.t").append()

    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2).load()
    counts = rows.selectExpr("value % 2 AS n", "to_json(struct(*)) AS text").groupBy("n", "text")
    writer = counts.count().select("n", "text").writeStream.outputMode("update")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).foreachBatch(write).start().awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
