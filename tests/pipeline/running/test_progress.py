"""Facts from Spark's progress, which was recorded from a real run."""

import json

import pytest

from klamm.pipeline.running.progress import PartitionProgress, QueryReport, Report, Reporter
from pipeline.running import recorded


def reported(*lines: str, queries: tuple[str, ...] = ()) -> Report:
    reporter = Reporter("page-stats", queries)
    for line in lines:
        reporter.add(line)
    return reporter.report()


def the_query(*lines: str) -> QueryReport:
    (query,) = reported(*lines).queries
    return query


def changed(line: str, **facts: object) -> str:
    return json.dumps({**json.loads(line), **facts})


def test_lag_of_a_partition_is_what_the_batch_left_unread() -> None:
    query = the_query(recorded.FIRST_OF_WINDOWS)

    assert query.partitions == (
        PartitionProgress("clicks", 0, 292, 998),
        PartitionProgress("clicks", 1, 293, 1002),
        PartitionProgress("orders", 0, 7, 24),
        PartitionProgress("orders", 1, 7, 26),
    )
    assert [each.lag for each in query.partitions] == [706, 709, 17, 19]
    assert query.lag == 1451


def test_batch_gives_its_time_watermark_and_state() -> None:
    query = the_query(recorded.SECOND_OF_WINDOWS)

    assert (query.batch_id, query.batch_ms, query.batch_records) == (1, 2133, 598)
    assert query.watermark_ms == 1794818587000
    assert (query.state_rows, query.late_rows) == (32, 0)


def test_first_batch_is_measured_by_the_time_it_took_because_nothing_was_before_it() -> None:
    query = the_query(recorded.FIRST_OF_WINDOWS)

    assert query.input_per_second == pytest.approx(599 / 9.841)
    assert query.watermark_ms is None


def test_rates_are_per_second_between_two_batches() -> None:
    query = the_query(recorded.SECOND_OF_WINDOWS)

    assert query.input_per_second == pytest.approx(60.5)
    assert query.output_per_second == pytest.approx(30 / (598 / 60.5))


def test_counts_add_up_over_batches() -> None:
    query = the_query(*recorded.WINDOWS)

    assert query.batches == 4
    assert query.input_records == 599 + 598 + 255
    assert query.output_records == 0 + 30 + 30 + 12
    assert dict(query.dropped) == {"sane": 10}
    assert query.dropped_records == 10


def test_batch_that_is_reported_twice_counts_once() -> None:
    reporter = Reporter("page-stats")

    news = [reporter.add(recorded.FIRST_OF_WINDOWS) for _ in range(2)]

    assert news == [True, False]
    assert reporter.report().queries[0].input_records == 599


def test_batch_of_the_same_number_in_a_later_run_is_another() -> None:
    query = the_query(
        recorded.FIRST_OF_WINDOWS, changed(recorded.FIRST_OF_WINDOWS, runId="another")
    )

    assert query.batches == 2


def test_query_that_waits_has_no_rate_and_no_further_batch() -> None:
    query = the_query(*recorded.PLAIN)

    assert (query.batches, query.batch_id) == (2, 3)
    assert (query.batch_records, query.input_per_second) == (0, 0.0)
    assert query.lag == 0


def test_what_a_query_writes_is_unknown_where_nobody_counts_it() -> None:
    query = the_query(*recorded.PLAIN)

    assert (query.output_per_second, query.output_records) == (None, None)


def test_files_have_no_partitions_and_their_sink_counts_rows() -> None:
    query = the_query(*recorded.FILES)

    assert (query.partitions, query.lag) == ((), None)
    assert query.output_records == 2


def test_query_without_a_batch_is_shown_and_keeps_the_pipeline_from_having_begun() -> None:
    names = ("topic.page-stats", "table.clicks")

    before = reported(recorded.FIRST_OF_WINDOWS, queries=names)
    after = reported(recorded.FIRST_OF_WINDOWS, *recorded.PLAIN, queries=names)

    assert [(query.name, query.batches) for query in before.queries] == [
        ("topic.page-stats", 1),
        ("table.clicks", 0),
    ]
    assert (before.have_begun(None), after.have_begun(None)) == (False, True)
    assert (before.have_begun({names[0]}), before.have_begun({names[1]})) == (True, False)


def test_lag_of_a_pipeline_is_that_of_its_slowest_query_partition_by_partition() -> None:
    report = reported(recorded.FIRST_OF_WINDOWS, *recorded.PLAIN)

    assert report.lag == 1451


def test_dead_letters_count_once_however_many_queries_see_them() -> None:
    letters = {"dead_letters": {"count": 3}}
    main = changed(recorded.FIRST_OF_WINDOWS, observedMetrics=letters)
    writer = changed(main, name="dead-letters.input", id="w", runId="w")

    assert reported(main).dead_letters == 3
    assert reported(main, changed(main, name="other"), writer).dead_letters == 3


def test_rows_of_a_dead_letter_query_are_dead_letters_where_it_counts_only_what_it_writes() -> None:
    writer = changed(
        recorded.SECOND_OF_WINDOWS,
        name="dead-letters.input",
        observedMetrics={"written": {"rows": 4}},
    )

    assert the_query(writer).dead_letters == 4


def test_records_with_unknown_fields_are_added_up_with_a_few_of_the_names() -> None:
    counts = [
        {"rows": 9, "unknown": 2, "first_unknown": "Page", "last_unknown": "pge"},
        {"rows": 9, "unknown": 1, "first_unknown": "a", "last_unknown": "b"},
    ]
    lines = [
        changed(line, observedMetrics={"read.input": each})
        for line, each in zip(recorded.WINDOWS[:2], counts, strict=True)
    ]

    query = the_query(*lines)

    assert dict(query.unknown) == {"input": 3}
    assert query.unknown_names == ("Page", "pge", "a", "b")
    assert query.to_dict()["unknown"] == {"input": 3}


def test_topic_that_is_read_twice_in_one_query_counts_where_it_is_behind() -> None:
    progress = json.loads(recorded.FIRST_OF_WINDOWS)
    ahead = json.loads(json.dumps(progress["sources"][0]))
    ahead["endOffset"]["clicks"]["0"] = 998

    query = the_query(changed(recorded.FIRST_OF_WINDOWS, sources=[ahead, *progress["sources"]]))

    assert query.partitions[0] == PartitionProgress("clicks", 0, 292, 998)


def test_report_is_plain_json() -> None:
    plain = reported(*recorded.LINES).to_dict()

    assert json.loads(json.dumps(plain)) == plain
    assert plain["queries"][0]["partitions"][0] == {
        "topic": "clicks",
        "partition": 0,
        "next_offset": 998,
        "end_offset": 998,
        "lag": 0,
    }
