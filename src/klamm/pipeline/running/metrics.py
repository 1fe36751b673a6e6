"""The last report of a pipeline in Prometheus' form, over HTTP. Needs prometheus-client, of the extra `pipeline`."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from klamm.pipeline.running.progress import QueryReport, Report

if TYPE_CHECKING:
    from wsgiref.simple_server import WSGIServer

    from prometheus_client.metrics_core import Metric

_QUERY = ("pipeline", "query")
_PARTITION = (*_QUERY, "topic", "partition")


class PipelineMetrics(Collector):
    """What is scraped is what was reported last; a query that has said nothing yet is left out."""

    def __init__(self, pipeline: str) -> None:
        self._report = Report(pipeline=pipeline, queries=())

    def update(self, report: Report) -> None:
        self._report = report

    def collect(self) -> Iterator[Metric]:
        report = self._report
        queries = [query for query in report.queries if query.at_ms is not None]
        for name, doc, attribute in _COUNTERS:
            yield _counter(name, doc, attribute, report.pipeline, queries)
        for name, doc, attribute, per_unit in _GAUGES:
            yield _gauge(name, doc, attribute, per_unit, report.pipeline, queries)
        yield _dropped(report.pipeline, queries)
        yield _unknown(report.pipeline, queries)
        for name, doc, attribute in _PARTITION_GAUGES:
            yield _partitions(name, doc, attribute, report.pipeline, queries)


class MetricsServer:
    """Serves /metrics until it is closed. OSError if the port is taken."""

    def __init__(self, metrics: PipelineMetrics, *, host: str, port: int) -> None:
        registry = CollectorRegistry()
        registry.register(metrics)
        self._server: WSGIServer
        self._thread: threading.Thread
        self._server, self._thread = start_http_server(port, host, registry)

    @property
    def port(self) -> int:
        return self._server.server_port

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


_COUNTERS = (
    ("batches", "Batches that were processed.", "batches"),
    ("input_records", "Records that were read.", "input_records"),
    ("output_records", "Rows that were written.", "output_records"),
    (
        "late_rows",
        "Rows behind the watermark that a step with state left out. An aggregation counts what it has added up in a task, "
        "so one row may be several records.",
        "late_rows",
    ),
    ("dead_letters", "Records that went to the dead-letter topic.", "dead_letters"),
)
# The last column: how many of the attribute's units make one of the metric's.
_GAUGES = (
    ("input_records_per_second", "Records read per second.", "input_per_second", 1),
    ("output_records_per_second", "Rows written per second.", "output_per_second", 1),
    ("batch_seconds", "How long the last batch took.", "batch_ms", 1000),
    ("batch_records", "Records in the last batch.", "batch_records", 1),
    ("last_look_timestamp_seconds", "When the query last looked for records.", "at_ms", 1000),
    ("watermark_timestamp_seconds", "Events older than this are late.", "watermark_ms", 1000),
    ("state_rows", "Rows of state.", "state_rows", 1),
    ("state_bytes", "Memory that the state takes.", "state_bytes", 1),
)
_PARTITION_GAUGES = (
    ("lag_records", "Records of the partition that are not processed yet.", "lag"),
    ("next_offset", "The first offset of the partition that is not processed yet.", "next_offset"),
)


def _counter(
    name: str, doc: str, attribute: str, pipeline: str, queries: Sequence[QueryReport]
) -> Metric:
    family = CounterMetricFamily(f"klamm_pipeline_{name}", doc, labels=_QUERY)
    for query in queries:
        value = getattr(query, attribute)
        if value is not None:
            family.add_metric((pipeline, query.name), value)
    return family


def _gauge(
    name: str,
    doc: str,
    attribute: str,
    per_unit: int,
    pipeline: str,
    queries: Sequence[QueryReport],
) -> Metric:
    family = GaugeMetricFamily(f"klamm_pipeline_{name}", doc, labels=_QUERY)
    for query in queries:
        value = getattr(query, attribute)
        if value is not None:
            family.add_metric((pipeline, query.name), value / per_unit)
    return family


def _dropped(pipeline: str, queries: Sequence[QueryReport]) -> Metric:
    family = CounterMetricFamily(
        "klamm_pipeline_dropped_records",
        "Records that an expectation dropped.",
        labels=(*_QUERY, "expectation"),
    )
    for query in queries:
        for expectation, count in query.dropped.items():
            family.add_metric((pipeline, query.name, expectation), count)
    return family


def _unknown(pipeline: str, queries: Sequence[QueryReport]) -> Metric:
    family = CounterMetricFamily(
        "klamm_pipeline_unknown_field_records",
        "Records with fields that the source's schema does not name.",
        labels=(*_QUERY, "source"),
    )
    for query in queries:
        for source, count in query.unknown.items():
            family.add_metric((pipeline, query.name, source), count)
    return family


def _partitions(
    name: str, doc: str, attribute: str, pipeline: str, queries: Sequence[QueryReport]
) -> Metric:
    family = GaugeMetricFamily(f"klamm_pipeline_{name}", doc, labels=_PARTITION)
    for query in queries:
        for each in query.partitions:
            value = getattr(each, attribute)
            if value is not None:
                labels = (pipeline, query.name, each.topic, str(each.partition))
                family.add_metric(labels, value)
    return family
