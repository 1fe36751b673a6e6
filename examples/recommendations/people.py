"""People of three tastes, who have seen most of what they like; and what is left for them, in plain Python."""

import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from examples.stage import Record, as_json

TASTES = 3
PRODUCTS_OF_A_TASTE = 12
UNSEEN = 3
MORNING = datetime(2026, 11, 15, 8, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class View:
    person: int
    product: int
    at: datetime

    def as_record(self) -> Record:
        key = str(self.person)
        return as_json(key, person=self.person, product=self.product, at=self.at)


def views(seed: int = 1, *, people: int = 60) -> list[View]:
    """Each person looks at all products of one taste but three, and now and then at one of another taste."""
    chance = random.Random(seed)
    seen = []
    for person in range(people):
        own = list(products_of(taste_of(person)))
        chance.shuffle(own)
        for product in own[UNSEEN:]:
            seen += [(person, product)] * chance.randint(2, 6)
        others = [p for taste in range(TASTES) for p in products_of(taste) if p not in own]
        seen.append((person, chance.choice(others)))
    chance.shuffle(seen)
    return [
        View(person, product, MORNING + timedelta(seconds=number))
        for number, (person, product) in enumerate(seen)
    ]


def taste_of(person: int) -> int:
    return person % TASTES


def products_of(taste: int) -> range:
    return range(taste * PRODUCTS_OF_A_TASTE, (taste + 1) * PRODUCTS_OF_A_TASTE)


def left_for_each(views: Iterable[View]) -> dict[int, set[int]]:
    """The products of a person's taste that the person has not seen: what a good model must find."""
    seen: dict[int, set[int]] = defaultdict(set)
    for view in views:
        seen[view.person].add(view.product)
    return {person: set(products_of(taste_of(person))) - own for person, own in seen.items()}
