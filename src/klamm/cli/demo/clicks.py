"""Clicks of a small shop, the same at every call, and what the demo's pipeline must make of them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

Click: TypeAlias = Mapping[str, Any]

_PEOPLE = ("ann", "bob", "eve", "joe", "mia")
_PAGES = {"/": 8, "/search": 5, "/product": 4, "/cart": 2, "/pay": 1}


def clicks(count: int = 2000, *, seed: int = 1) -> list[Click]:
    """Now and then a clock runs backwards, and the time that a page took is below zero."""
    chance = random.Random(seed)
    pages, weights = list(_PAGES), list(_PAGES.values())
    return [
        {
            "user": chance.choice(_PEOPLE),
            "page": chance.choices(pages, weights)[0],
            "ms": -1 if chance.random() < 0.01 else chance.randint(3, 900),
        }
        for _ in range(count)
    ]


def as_lines(clicks: Iterable[Click]) -> str:
    return "".join(f"{json.dumps(click)}\n" for click in clicks)


def pages_of(clicks: Iterable[Click]) -> list[dict[str, Any]]:
    """What the pipeline computes, by hand; the most asked for first."""
    pages: dict[str, dict[str, Any]] = {}
    for click in clicks:
        if click["ms"] >= 0:
            page = click["page"]
            row = pages.setdefault(page, {"page": page, "clicks": 0, "slowest_ms": 0})
            row["clicks"] += 1
            row["slowest_ms"] = max(row["slowest_ms"], click["ms"])
    return sorted(pages.values(), key=lambda row: -int(row["clicks"]))
