"""examples/orders: the join of two streams is what plain Python joins."""

from datetime import timedelta
from decimal import Decimal

from examples.orders.__main__ import show, with_total
from examples.orders.shop import MORNING, Order, Payment, a_morning, settled
from examples.show import check
from examples.stage import Stage

TEN = Decimal(10)


def test_payment_counts_for_fifteen_minutes_and_only_in_full() -> None:
    orders = [Order(number, "ann", TEN, MORNING) for number in range(4)]
    payments = [
        Payment(0, TEN, MORNING + timedelta(minutes=15)),
        Payment(1, TEN, MORNING + timedelta(minutes=15, milliseconds=1)),
        Payment(2, TEN - 1, MORNING),
    ]

    states = [row["state"] for row in settled(orders, payments)]

    assert states == ["paid", "unpaid", "short", "unpaid"]


def test_pipeline_tells_of_every_order_once(stage: Stage) -> None:
    show(stage)

    expected = settled(*a_morning())
    assert {row["state"] for row in expected} == {"paid", "unpaid", "short"}
    check("topic", [with_total(row) for row in stage.values("orders.settled")], expected)
    check("table", stage.table("orders_settled"), expected)
