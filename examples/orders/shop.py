"""Orders and payments of a shop, and which order was paid, in plain Python."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from examples.stage import Record, Row, as_json

MORNING = datetime(2026, 11, 15, 9, tzinfo=UTC)
TIME_TO_PAY = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Order:
    id: int
    customer: str
    total: Decimal
    ordered_at: datetime

    def as_record(self) -> Record:
        fields = {"id": self.id, "customer": self.customer, "ordered_at": self.ordered_at}
        return as_json(str(self.id), **fields, total=float(self.total))


@dataclass(frozen=True, slots=True)
class Payment:
    order_id: int
    amount: Decimal
    paid_at: datetime

    def as_record(self) -> Record:
        fields = {"order_id": self.order_id, "paid_at": self.paid_at}
        return as_json(str(self.order_id), **fields, amount=float(self.amount))


def a_morning(seed: int = 1, *, orders: int = 150) -> tuple[list[Order], list[Payment]]:
    """Most are paid at once, some late, some in part, some never; the last one comes hours after all others."""
    chance = random.Random(seed)
    placed, paid = [], []
    for number in range(orders):
        is_last = number == orders - 1
        minutes = 600.0 if is_last else chance.uniform(0, 180)
        ordered_at = _whole_ms(MORNING + timedelta(minutes=minutes))
        total = Decimal(chance.randrange(500, 20_000)) / 100
        placed.append(Order(number, f"customer-{chance.randrange(30):02}", total, ordered_at))
        if not is_last and chance.random() < 0.15:
            continue
        wait = timedelta(minutes=1 if is_last else chance.expovariate(1 / 6))
        amount = total if is_last or chance.random() < 0.95 else total - 1
        paid.append(Payment(number, amount, _whole_ms(ordered_at + wait)))
    return placed, paid


def _whole_ms(at: datetime) -> datetime:
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


def settled(orders: Iterable[Order], payments: Iterable[Payment]) -> list[Row]:
    by_order = {payment.order_id: payment for payment in payments}
    return [_settled(order, by_order.get(order.id)) for order in orders]


def _settled(order: Order, payment: Payment | None) -> Row:
    row = {
        "id": order.id,
        "customer": order.customer,
        "total": order.total,
        "ordered_at": order.ordered_at,
    }
    if payment is None or payment.paid_at > order.ordered_at + TIME_TO_PAY:
        return {**row, "paid_at": None, "state": "unpaid"}
    state = "short" if payment.amount < order.total else "paid"
    return {**row, "paid_at": payment.paid_at, "state": state}
