"""examples/metrics: percentiles and alerts are those that plain Python computes."""

from datetime import timedelta

import pytest
from examples.metrics.__main__ import show
from examples.metrics.requests import (
    NOON,
    Request,
    alerts_of,
    percentile,
    percentiles_of,
    requests,
)
from examples.show import check
from examples.stage import Stage


@pytest.mark.parametrize(
    ("percent", "expected"), [(50, 50), (95, 95), (99, 99), (100, 100), (1, 1)]
)
def test_percentile_is_the_smallest_value_that_covers_the_share(
    percent: int, expected: int
) -> None:
    assert percentile(list(range(100, 0, -1)), percent) == expected


def test_only_minutes_that_are_over_and_times_that_can_be_count() -> None:
    own = [
        Request("search", "host-0", 100, NOON),
        Request("search", "host-1", 300, NOON + timedelta(seconds=59)),
        Request("search", "host-1", -1, NOON + timedelta(seconds=30)),
        Request("search", "host-1", 900, NOON + timedelta(seconds=100)),
    ]

    rows = percentiles_of(own)

    assert rows == [
        {"minute": NOON, "service": "search", "requests": 2, "p50": 100, "p95": 300, "p99": 300}
    ]
    assert alerts_of(rows) == [
        {"service": "search", "minute": NOON, "p95": 300, "reason": "p95 is above 250 ms"}
    ]


def test_pipeline_computes_the_percentiles_and_alerts_on_the_slow_minutes(stage: Stage) -> None:
    show(stage)

    expected = percentiles_of(requests())
    check("table", stage.table("metrics_latency"), expected)
    check("topic", stage.values("metrics.alerts"), alerts_of(expected))
    assert len(alerts_of(expected)) == 15, "the bad quarter of an hour"
