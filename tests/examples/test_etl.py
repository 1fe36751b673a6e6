"""examples/etl: rows leave a real PostgreSQL once each, and totals come back, one row per customer."""

import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

from examples.etl.__main__ import SHOP, show
from examples.etl.orders import Order, orders, totals_of
from examples.stage import Stage

from support.postgresql import PostgreSql

ROOT = Path(__file__).parents[2]


def test_totals_are_sums_per_customer() -> None:
    own = [
        Order(1, "ann", Decimal("1.50")),
        Order(2, "bob", Decimal(2)),
        Order(3, "ann", Decimal(4)),
    ]

    assert totals_of(own) == [
        {"customer": "ann", "orders": 2, "total": Decimal("5.50"), "last_order": 3},
        {"customer": "bob", "orders": 1, "total": Decimal(2), "last_order": 2},
    ]


def test_pipeline_carries_new_rows_out_and_totals_back(
    stage: Stage, postgresql: PostgreSql
) -> None:
    login = f"user={postgresql.user}&password={postgresql.password}"

    show(stage, f"{postgresql.url}?{login}")

    rows = postgresql.run("SELECT customer, orders, total, last_order FROM etl_totals ORDER BY 1")
    found = [(name, int(count), Decimal(total), int(last)) for name, count, total, last in rows]
    everything = orders(1, range(1, 101)) + orders(2, range(101, 131))
    expected = sorted(tuple(row.values()) for row in totals_of(everything))
    assert found == expected


def test_without_a_database_it_says_what_it_needs() -> None:
    environment = {name: value for name, value in os.environ.items() if name != SHOP}

    done = subprocess.run(
        [sys.executable, "-m", "examples.etl"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "needs a PostgreSQL database: SHOP_JDBC=" in done.stderr
