"""`klamm pipeline plan`: what flows where, without Spark and without a cluster."""

from pathlib import Path

from cli.commands import Klamm
from pipeline.cli import files


def test_plan_draws_what_flows_where(pipeline: Klamm, home: Path) -> None:
    answer = pipeline("plan", files.write(home, files.JOIN), "-o", "table")

    sql = "SELECT o.id, c.country FROM orders o JOIN payments p ON o.id = p.id..."
    assert answer.code == 0
    assert answer.text.splitlines() == [
        "paid-orders",
        "├─ orders: topic orders (json, from earliest), watermark 1 minute on at",
        "│  │    id string, at timestamp",
        f"│  ├─ paid: {sql}",
        "│  │  ├─ topic paid (json, exactly once)",
        "│  │  └─ table paid (iceberg, upsert, exactly once)",
        "│  └─ parquet /data/orders (exactly once)",
        "├─ payments: topics cards, cash (json, from latest)",
        "│  │    id string, paid timestamp",
        f"│  └─ paid: {sql} (see above)",
        "└─ customers: files /data/customers (csv)",
        "   │    id string, country string",
        f"   └─ paid: {sql} (see above)",
        "",
        "queries (each with a checkpoint of its own):",
        "  table.paid+topic.paid: append rows of paid to topic.paid exactly_once, table.paid exactly_once",
        "  parquet.data-orders: append rows of orders to parquet.data-orders exactly_once",
        "  dead-letters.orders: bad records of orders to topic bad-orders",
        "  dead-letters.payments: bad records of payments to topic bad-orders",
        "  orders is read and decoded 3 times, once by each of table.paid+topic.paid, parquet.data-orders, dead-letters.orders",
        "  payments is read and decoded twice, once by each of table.paid+topic.paid, dead-letters.payments",
        "trigger: every 5 seconds",
        "state: spread over 4 here, or one for each core of a cluster; a query keeps the number of its first batch as long "
        "as its checkpoint",
        f"progress: group pipeline.paid-orders, checkpoint {home.parent}/data/klamm/pipelines/paid-orders/checkpoint",
    ]


def test_plan_is_json_in_a_pipe(pipeline: Klamm, home: Path) -> None:
    (plan,) = pipeline("plan", files.write(home, files.JOIN)).rows

    assert plan["schemas"]["payments"] == "id string, paid timestamp"
    assert {"from": "customers", "to": "paid"} in plan["flows"]
    assert [query["name"] for query in plan["queries"]] == [
        "table.paid+topic.paid",
        "parquet.data-orders",
    ]
    assert plan["jars"] == ["topics", "iceberg"]
    assert plan["reads"]["payments"] == ["table.paid+topic.paid", "dead-letters.payments"]


def test_plan_shows_no_secret(pipeline: Klamm, home: Path) -> None:
    text = """\
name: etl
source: {jdbc: "jdbc:postgresql://db/shop?password=hidden1", table: orders, user: u, password: hidden2}
sink: {console: true}
"""
    file = files.write(home, text)

    for how in ("table", "json"):
        assert b"hidden" not in pipeline("plan", file, "-o", how).out
