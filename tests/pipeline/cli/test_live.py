"""What a run shows: lines, JSON and the table that stays in place. The progress was recorded from a real Spark."""

import json

import pytest

from klamm.cli.output import Format
from klamm.cli.pipeline.live import JsonLines, Lines, Quiet, Screen, view_for
from klamm.cli.pipeline.units import age, amount, clock, moment, rate, size, took
from klamm.pipeline.running.progress import Reporter
from pipeline.running import recorded


def test_line_of_each_batch_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    reporter, view = Reporter("page-stats", ["topic.page-stats", "table.clicks"]), Lines()

    for line in recorded.WINDOWS[:2]:
        reporter.add(line)
        view.show(reporter.report())
        view.show(reporter.report())

    assert capsys.readouterr().out.splitlines() == [
        "09:23:52 topic.page-stats batch 0: 599 in (61/s), out 0/s, took 9.8 s, lag 1451, "
        "state 33, dropped 10",
        "09:24:02 topic.page-stats batch 1: 598 in (60/s), out 3.0/s, took 2.1 s, lag 853, "
        "watermark 08:43:07, state 32, dropped 10",
    ]


def test_line_names_fields_that_the_schema_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    reporter, view = Reporter("page-stats"), Lines()
    unknown = {"read.input": {"unknown": 7, "first_unknown": "Page", "last_unknown": "pge"}}
    reporter.add(json.dumps({**json.loads(recorded.WINDOWS[0]), "observedMetrics": unknown}))

    view.show(reporter.report())

    assert capsys.readouterr().out.endswith(", unknown fields 7 (Page, pge)\n")


def test_query_that_waits_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    reporter, view = Reporter("page-stats"), Lines()
    for line in recorded.PLAIN[:2]:
        reporter.add(line)
    view.show(reporter.report())
    capsys.readouterr()

    reporter.add(recorded.WAITING)
    view.show(reporter.report())

    assert capsys.readouterr().out == ""


def test_report_is_one_json_object_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Reporter("page-stats")
    reporter.add(recorded.FIRST_OF_WINDOWS)

    with JsonLines() as view:
        print("a row of a console sink")
        view.show(reporter.report())

    out, err = capsys.readouterr()
    (line,) = out.splitlines()
    assert json.loads(line) == reporter.report().to_dict()
    assert err == "a row of a console sink\n"


def test_screen_shows_rates_lag_and_the_partitions_that_are_behind(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    reporter = Reporter("page-stats", ["topic.page-stats", "table.clicks"])
    for line in recorded.WINDOWS[:2]:
        reporter.add(line)

    with Screen() as view:
        view.show(reporter.report())
        view.say("stopping")
        view.tell("the broker is away")

    shown = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert shown[0] == "the broker is away"
    assert "page-stats lag 853, dead letters 0 Ctrl-C stops" in shown
    assert "query in out batch took lag watermark state dropped" in shown
    assert "topic.page-stats 60/s 3.0/s 1 2.1 s 853 08:43:07 32 10" in shown
    assert "table.clicks 0/s - - - - - 0 0" in shown
    assert any(line.startswith("lag by partition: clicks-0 ") for line in shown)
    assert "stopping" in shown


def test_quiet_run_tells_only_of_trouble(capsys: pytest.CaptureFixture[str]) -> None:
    reporter, view = Reporter("page-stats"), Quiet()
    reporter.add(recorded.FIRST_OF_WINDOWS)

    view.say("Spark starts")
    view.show(reporter.report())
    view.tell("the broker is away")

    assert capsys.readouterr() == ("", "the broker is away\n")


def test_pipe_gets_lines_unless_json_is_asked_for() -> None:
    assert isinstance(view_for(None, quiet=False), Lines)
    assert isinstance(view_for(Format.TABLE, quiet=False), Lines)
    assert isinstance(view_for(Format.JSON, quiet=False), JsonLines)
    assert isinstance(view_for(Format.JSON, quiet=True), Quiet)


def test_numbers_are_short() -> None:
    numbers = (0, 0.25, 9.96, 9999, 10_000, 12_345, 999_499, 1_234_567, 2_500_000_000, None)

    assert [amount(number) for number in numbers] == [
        *("0", "0.2", "10.0", "9999", "10k", "12.3k", "999k", "1.23M", "2.5G", "-"),
    ]
    assert (rate(None), rate(1500)) == ("-", "1500/s")
    assert (took(None), took(999), took(1500)) == ("-", "999 ms", "1.5 s")
    assert (size(512), size(48_309_426)) == ("512 B", "46.1 MiB")
    assert [age(ms) for ms in (5_000, 65_000, 3_700_000, 90_000_000)] == [
        *("5 s", "1 min 5 s", "1 h 1 min", "1 d 1 h"),
    ]


def test_times_are_utc() -> None:
    assert moment(1_794_818_587_000) == "2026-11-16T08:43:07Z"
    assert clock(1_794_818_587_000) == "08:43:07"
    assert (moment(None), clock(None)) == (None, "-")
