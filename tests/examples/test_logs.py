"""examples/logs: every line is in the table or a dead letter, and after the fix those that can be saved are saved."""

from datetime import timedelta

from examples.logs.__main__ import DEAD_LETTERS, show
from examples.logs.lines import MORNING, Line, lines, rows_of
from examples.show import check
from examples.stage import Stage

GOOD = Line("host-0", "2026-11-15T07:00:01Z WARN kernel: link eth0: down")
NEW = Line("host-5", "2026-11-15T07:00:01.500Z INFO shop: order 17: paid")
BROKEN = Line("host-0", "15T07:00:01Z WARN kernel: cpu clock throttled")


def test_line_with_milliseconds_is_a_row_only_after_the_fix() -> None:
    good = {
        "at": MORNING + timedelta(seconds=1),
        "host": "host-0",
        "level": "WARN",
        "program": "kernel",
        "message": "link eth0: down",
    }
    new = {
        "at": MORNING + timedelta(seconds=1.5),
        "host": "host-5",
        "level": "INFO",
        "program": "shop",
        "message": "order 17: paid",
    }

    assert rows_of([GOOD, NEW, BROKEN], milliseconds=False) == [good]
    assert rows_of([GOOD, NEW, BROKEN], milliseconds=True) == [good, new]


def test_pipeline_loses_no_line_and_takes_the_dead_letters_after_the_fix(stage: Stage) -> None:
    show(stage)

    sent = lines()
    rows = rows_of(sent, milliseconds=True)
    check("table", stage.table("logs_lines"), rows)
    first = len(sent) - len(rows_of(sent, milliseconds=False))
    dead = stage.records(DEAD_LETTERS)
    assert len(dead) == first + len(sent) - len(rows)
    headers = dict(dead[0].headers)
    assert headers["klamm.check"] == b"parsable"
    assert headers["klamm.topic"].startswith(b"logs.host-")
