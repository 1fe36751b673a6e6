"""`python -m examples.activity`: clicks flow in, visits come out, as a topic and as a table."""

import sys
from pathlib import Path

from examples.activity.clicks import clicks, visits_of
from examples.show import check, play, show_rows
from examples.stage import Stage

PIPELINE = Path(__file__).with_name("pipeline.yaml")


def show(stage: Stage) -> None:
    sent = clicks()
    stage.create("activity.clicks", "activity.visits")
    stage.send("activity.clicks", (click.as_record() for click in sent))

    stage.run(PIPELINE)

    visits = stage.values("activity.visits")
    show_rows(
        f"{len(sent)} clicks, {len(visits)} visits", sorted(visits, key=lambda row: row["began"])
    )
    check("the topic activity.visits", visits, visits_of(sent))
    check("the table activity_visits", stage.table("activity_visits"), visits_of(sent))


if __name__ == "__main__":
    sys.exit(play("activity", show, description=__doc__))
