"""What Prometheus is told."""

import json
import re
from collections.abc import Iterator
from urllib.request import urlopen

import pytest

pytest.importorskip("prometheus_client")

from klamm.pipeline.running.metrics import MetricsServer, PipelineMetrics
from klamm.pipeline.running.progress import Reporter
from pipeline.running import recorded
from support.brokers import free_port


@pytest.fixture
def metrics() -> PipelineMetrics:
    return PipelineMetrics("page-stats")


@pytest.fixture
def server(metrics: PipelineMetrics) -> Iterator[MetricsServer]:
    server = MetricsServer(metrics, host="127.0.0.1", port=free_port())
    yield server
    server.close()


def scraped(server: MetricsServer) -> dict[str, float]:
    with urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=10) as page:
        lines = page.read().decode().splitlines()
    found = (re.fullmatch(r"(\S+) (\S+)", line) for line in lines if not line.startswith("#"))
    return {match[1]: float(match[2]) for match in found if match}


def test_scrape_shows_the_last_report_with_labels(
    metrics: PipelineMetrics, server: MetricsServer
) -> None:
    reporter = Reporter("page-stats")
    for line in recorded.WINDOWS[:2]:
        reporter.add(line)

    metrics.update(reporter.report())
    values = scraped(server)

    query = 'pipeline="page-stats",query="topic.page-stats"'
    assert values[f"klamm_pipeline_input_records_total{{{query}}}"] == 599 + 598
    assert values[f"klamm_pipeline_output_records_total{{{query}}}"] == 30
    assert values[f"klamm_pipeline_batch_seconds{{{query}}}"] == 2.133
    assert values[f"klamm_pipeline_state_rows{{{query}}}"] == 32
    assert values[f"klamm_pipeline_watermark_timestamp_seconds{{{query}}}"] == 1794818587
    dropped = 'klamm_pipeline_dropped_records_total{expectation="sane",' + query + "}"
    assert values[dropped] == 10
    lag = [v for name, v in values.items() if name.startswith("klamm_pipeline_lag_records{")]
    assert sum(lag) == sum(each.lag or 0 for each in reporter.report().queries[0].partitions)


def test_records_with_unknown_fields_are_a_counter_of_their_source(
    metrics: PipelineMetrics, server: MetricsServer
) -> None:
    reporter = Reporter("page-stats")
    unknown = {"read.input": {"unknown": 7, "first_unknown": "pge"}}
    reporter.add(json.dumps({**json.loads(recorded.WINDOWS[0]), "observedMetrics": unknown}))

    metrics.update(reporter.report())

    labels = 'pipeline="page-stats",query="topic.page-stats",source="input"'
    name = f"klamm_pipeline_unknown_field_records_total{{{labels}}}"
    assert scraped(server)[name] == 7


def test_nothing_is_claimed_before_the_first_report(
    metrics: PipelineMetrics, server: MetricsServer
) -> None:
    assert scraped(server) == {}


def test_unknown_numbers_are_left_out(metrics: PipelineMetrics, server: MetricsServer) -> None:
    reporter = Reporter("page-stats")
    for line in recorded.PLAIN:
        reporter.add(line)

    metrics.update(reporter.report())

    assert not [name for name in scraped(server) if "output_records" in name]
