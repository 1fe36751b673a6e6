"""Orders of a shop as rows of a table, and the totals of its customers in plain Python."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from examples.stage import Row


@dataclass(frozen=True, slots=True)
class Order:
    id: int
    customer: str
    total: Decimal


def orders(seed: int, ids: range) -> list[Order]:
    chance = random.Random(seed)
    return [
        Order(
            number,
            f"customer-{chance.randrange(12):02}",
            Decimal(chance.randrange(100, 9999)) / 100,
        )
        for number in ids
    ]


def totals_of(orders: Iterable[Order]) -> list[Row]:
    totals: dict[str, Row] = {}
    for order in orders:
        row = totals.setdefault(
            order.customer,
            {"customer": order.customer, "orders": 0, "total": Decimal(0), "last_order": 0},
        )
        row["orders"] += 1
        row["total"] += order.total
        row["last_order"] = max(row["last_order"], order.id)
    return list(totals.values())
