"""`python -m examples.orders`: orders and payments flow in, and each order comes out as paid, short or unpaid."""

import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path

from examples.orders.shop import a_morning, settled
from examples.show import check, play, show_rows
from examples.stage import Row, Stage

PIPELINE = Path(__file__).with_name("pipeline.yaml")


def show(stage: Stage) -> None:
    orders, payments = a_morning()
    stage.create("orders.placed", "orders.payments", "orders.settled")
    stage.send("orders.placed", (order.as_record() for order in orders))
    stage.send("orders.payments", (payment.as_record() for payment in payments))

    stage.run(PIPELINE)

    found = [with_total(row) for row in stage.values("orders.settled")]
    states = Counter(row["state"] for row in found)
    show_rows(
        f"{len(orders)} orders, {len(payments)} payments: "
        + ", ".join(f"{count} {state}" for state, count in sorted(states.items())),
        sorted(found, key=lambda row: row["id"]),
    )
    check("the topic orders.settled", found, settled(orders, payments))
    check("the table orders_settled", stage.table("orders_settled"), settled(orders, payments))


def with_total(row: Row) -> Row:
    """JSON has no decimals, and leaves out what is not there."""
    return {**row, "total": Decimal(str(row["total"])), "paid_at": row.get("paid_at")}


if __name__ == "__main__":
    sys.exit(play("orders", show, description=__doc__))
