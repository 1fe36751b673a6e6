"""`python -m examples.logs`: lines of many hosts go into one table; what cannot be parsed is kept, and tried again."""

import sys
from collections.abc import Iterable
from pathlib import Path

from examples.logs.lines import lines, rows_of
from examples.show import check, play, show_rows
from examples.stage import Record, Row, Stage

PIPELINE = Path(__file__).with_name("pipeline.yaml")
FIXED = Path(__file__).with_name("fixed.yaml")
DEAD_LETTERS = "logs.unparsable"


def show(stage: Stage) -> None:
    sent = lines()
    topics = sorted({f"logs.{line.host}" for line in sent})
    stage.create(*topics, DEAD_LETTERS, partitions=1)
    for topic in topics:
        own = [line for line in sent if f"logs.{line.host}" == topic]
        stage.send(topic, (Record(None, line.text.encode()) for line in own))

    stage.run(PIPELINE)

    rows = stage.table("logs_lines")
    dead = [record.value.decode() for record in stage.records(DEAD_LETTERS)]
    show_rows(f"{len(sent)} lines: {len(rows)} in the table", by_time(rows), most=5)
    show_rows(f"{len(dead)} dead letters", [{"line": line} for line in dead[-5:]])
    check("the table logs_lines", rows, rows_of(sent, milliseconds=False))

    sent_again = stage.retry_dead_letters(PIPELINE)
    stage.run(FIXED)

    rows = stage.table("logs_lines")
    count = len(stage.records(DEAD_LETTERS)) - len(dead)
    title = (
        f"{sent_again} sent again after the fix: {len(rows)} in the table, {count} are dead again"
    )
    show_rows(title, by_time(row for row in rows if row["at"].microsecond), most=5)
    check("the table logs_lines", rows, rows_of(sent, milliseconds=True))


def by_time(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["at"], row["host"]))


if __name__ == "__main__":
    sys.exit(play("logs", show, description=__doc__))
