"""`python -m examples.archive`: a topic is kept as a table, and three hours of it come back as a topic."""

import sys
from pathlib import Path

from examples.archive.payments import BEGIN, END, PARTITIONS, in_period, payments
from examples.archive.period import take_out
from examples.show import check, play, show_rows
from examples.stage import Record, Row, Stage, rows_of

KEEP = Path(__file__).with_name("keep.yaml")
BACK = Path(__file__).with_name("back.yaml")
BY_HOUR = """
SELECT date_trunc('hour', at) AS hour, count(*) AS payments, min(at) AS first, max(at) AS last
FROM lake.default.archive_payments GROUP BY 1 ORDER BY 1
"""


def show(stage: Stage) -> None:
    sent = payments()
    # Their times are given: the topic must not think that they are old.
    config = {"retention.ms": "-1"}
    stage.create("archive.payments", "archive.again", partitions=PARTITIONS, config=config)
    stage.send("archive.payments", sent)

    stage.run(KEEP)
    folder = str(stage.folder / "taken-out")
    take_out(stage.spark, folder, begin=BEGIN, end=END)
    stage.run(BACK, TAKEN_OUT=folder)

    again = stage.records("archive.again")
    show_rows(f"{len(sent)} payments in the table", rows_of(stage.spark, BY_HOUR), most=5)
    title = f"{len(again)} of them again in a topic, from {BEGIN:%H:%M} to {END:%H:%M}"
    rows = [as_row(record) for record in again]
    show_rows(title, sorted(rows, key=lambda row: int(row["first.offset"])), most=5)
    check(
        "the table archive_payments",
        ({"value": row["value"]} for row in stage.table("archive_payments")),
        ({"value": record.value} for record in sent),
    )
    check(
        "the topic archive.again",
        (as_row(record) for record in again),
        (as_row(record) for record in in_period(sent, BEGIN, END)),
    )


def as_row(record: Record) -> Row:
    headers = {name: value.decode() for name, value in record.headers}
    return {"key": record.key, "value": record.value.hex(), **headers}


if __name__ == "__main__":
    sys.exit(play("archive", show, description=__doc__))
