"""`python -m examples.metrics`: request times flow in, percentiles per minute and alerts come out."""

import sys
from pathlib import Path

from examples.metrics.requests import alerts_of, percentiles_of, requests
from examples.show import check, play, show_rows
from examples.stage import Stage

PIPELINE = Path(__file__).with_name("pipeline.yaml")


def show(stage: Stage) -> None:
    sent = requests()
    stage.create("metrics.requests", "metrics.alerts")
    stage.send("metrics.requests", (request.as_record() for request in sent))

    stage.run(PIPELINE)

    latency = stage.table("metrics_latency")
    alerts = stage.values("metrics.alerts")
    show_rows(
        f"{len(sent)} requests, {len(latency)} rows of percentiles",
        sorted(latency, key=lambda row: (row["service"], row["minute"])),
        most=5,
    )
    show_rows(f"{len(alerts)} alerts", sorted(alerts, key=lambda row: row["minute"]), most=5)
    check("the table metrics_latency", latency, percentiles_of(sent))
    check("the topic metrics.alerts", alerts, alerts_of(percentiles_of(sent)))


if __name__ == "__main__":
    sys.exit(play("metrics", show, description=__doc__))
