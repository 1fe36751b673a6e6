"""examples/recommendations: the model finds, for every person, the products of that person's taste still unseen."""

import json

from examples.recommendations.__main__ import show
from examples.recommendations.people import MORNING, View, left_for_each, products_of, views
from examples.stage import Stage


def test_what_is_left_are_the_unseen_products_of_the_own_taste() -> None:
    own = [View(0, product, MORNING) for product in products_of(0) if product > 1]
    other = View(0, products_of(1)[0], MORNING)

    assert left_for_each([*own, other]) == {0: {0, 1}}


def test_pipeline_writes_the_best_products_of_each_person_to_a_compacted_topic(
    stage: Stage,
) -> None:
    show(stage)

    found = {
        int(record.key or ""): set(json.loads(record.value)["products"])
        for record in stage.records("recommendations.top")
    }
    assert found == left_for_each(views())
