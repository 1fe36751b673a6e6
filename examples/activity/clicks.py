"""Clicks of some people over an evening, and the visits that they make, in plain Python."""

import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from examples.stage import Record, Row, as_json

PAGES = ("/", "/search", "/product", "/cart", "/pay", "/help")
EVENING = datetime(2026, 11, 15, 18, tzinfo=UTC)
GAP = timedelta(minutes=10)
LATENESS = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Click:
    user: str
    page: str
    ms: int
    at: datetime

    def as_record(self) -> Record:
        return as_json(self.user, user=self.user, page=self.page, ms=self.ms, at=self.at)


def clicks(seed: int = 1, *, people: int = 20, visits: int = 4) -> list[Click]:
    """In the order in which they arrive, which is not quite the order in which they happened."""
    chance = random.Random(seed)
    found = []
    for person in range(people):
        at = EVENING + timedelta(seconds=chance.uniform(0, 1800))
        for _ in range(visits):
            for _ in range(chance.randint(1, 9)):
                ms = chance.randint(5, 400)
                found.append(Click(f"user-{person:02}", chance.choice(PAGES), ms, _whole_ms(at)))
                at += timedelta(seconds=chance.uniform(1, 240))
            at += GAP + timedelta(seconds=chance.uniform(1, 1800))
    delay = {click: chance.uniform(0, LATENESS.total_seconds()) for click in found}
    return sorted(found, key=lambda click: click.at.timestamp() + delay[click])


def _whole_ms(at: datetime) -> datetime:
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


def visits_of(clicks: Iterable[Click]) -> list[Row]:
    """The visits that are over: those of the last minutes may still grow."""
    by_user: dict[str, list[Click]] = defaultdict(list)
    for click in sorted(clicks, key=lambda click: click.at):
        by_user[click.user].append(click)
    watermark = max(last[-1].at for last in by_user.values()) - LATENESS
    return [
        {
            "user": user,
            "began": visit[0].at,
            "ended": visit[-1].at,
            "clicks": len(visit),
            "first_page": visit[0].page,
            "last_page": visit[-1].page,
        }
        for user, own in by_user.items()
        for visit in _cut(own)
        if visit[-1].at + GAP <= watermark
    ]


def _cut(clicks: list[Click]) -> list[list[Click]]:
    visits = [[clicks[0]]]
    for before, click in pairwise(clicks):
        if click.at - before.at > GAP:
            visits.append([])
        visits[-1].append(click)
    return visits
