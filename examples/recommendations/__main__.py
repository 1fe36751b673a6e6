"""`python -m examples.recommendations`: views flow in, a model learns, and the best products per person come out."""

import sys
from pathlib import Path

from examples.recommendations.people import UNSEEN, left_for_each, taste_of, views
from examples.recommendations.training import top_products
from examples.show import check, play, show_rows
from examples.stage import Stage

RATINGS = Path(__file__).with_name("ratings.yaml")
PUBLISH = Path(__file__).with_name("publish.yaml")


def show(stage: Stage) -> None:
    sent = views()
    stage.create("recommendations.views")
    stage.create("recommendations.top", config={"cleanup.policy": "compact"})
    stage.send("recommendations.views", (view.as_record() for view in sent))

    stage.run(RATINGS)
    answers = stage.folder / "answers"
    ratings = stage.spark.table("lake.default.recommendations_ratings")
    top_products(ratings, count=UNSEEN).coalesce(1).write.parquet(str(answers))
    stage.run(PUBLISH, ANSWERS=str(answers))

    # A later record of a key replaces the one before it, as compaction does.
    top = {row["person"]: row["products"] for row in stage.values("recommendations.top")}
    rows = [
        {"person": person, "taste": taste_of(person), "show": top[person]} for person in sorted(top)
    ]
    show_rows(f"{len(sent)} views, the best {UNSEEN} for {len(rows)} people", rows)
    check(
        "the topic recommendations.top",
        ({"person": person, "products": sorted(products)} for person, products in top.items()),
        (
            {"person": person, "products": sorted(products)}
            for person, products in left_for_each(sent).items()
        ),
    )


if __name__ == "__main__":
    sys.exit(play("recommendations", show, description=__doc__))
