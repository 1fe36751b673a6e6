"""examples/archive: a topic is in the table byte for byte, and a period of it comes back with its first places."""

from datetime import timedelta

from examples.archive.__main__ import as_row, show
from examples.archive.payments import BEGIN, DAY, END, in_period, ms_of, payments
from examples.show import check
from examples.stage import Record, Stage


def payment(partition: int, hour: float) -> Record:
    time = ms_of(DAY + timedelta(hours=hour))
    return Record("ann", b"\x00\xff", partition=partition, timestamp_ms=time)


def test_period_includes_its_begin_and_not_its_end() -> None:
    own = [payment(0, 8), payment(1, 9), payment(0, 10), payment(0, 12)]

    found = in_period(own, DAY + timedelta(hours=9), DAY + timedelta(hours=12))

    assert [dict(record.headers) for record in found] == [
        {"first.partition": b"1", "first.offset": b"0"},
        {"first.partition": b"0", "first.offset": b"1"},
    ]


def test_pipeline_keeps_every_record_and_brings_the_period_back(stage: Stage) -> None:
    show(stage)

    sent = payments()
    kept = stage.table("archive_payments")
    check(
        "table",
        ({"key": row["key"], "value": row["value"], "ms": ms_of(row["at"])} for row in kept),
        ({"key": (r.key or "").encode(), "value": r.value, "ms": r.timestamp_ms} for r in sent),
    )
    again = stage.records("archive.again")
    check("topic", map(as_row, again), map(as_row, in_period(sent, BEGIN, END)))
