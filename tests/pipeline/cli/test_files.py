"""`klamm pipeline init`, `validate`, `schema`, `plan`: the file itself, without Spark and without a cluster."""

import json
from pathlib import Path

import pytest

from cli.commands import Klamm
from klamm.pipeline.spec import parse, to_json_schema
from pipeline.cli import files
from tidy.reference_pages import PIPELINE_SCHEMA

WRONG = """\
name: stats
source: {topic: clicks, format: jsn, schema: "user string"}
sinks:
  - {topic: out, delivry: exactly_once}
"""


def test_init_writes_a_file_that_is_valid_as_it_stands(pipeline: Klamm, home: Path) -> None:
    answer = pipeline("init", "page-stats")

    assert answer.code == 0
    assert "klamm pipeline run page-stats.yaml" in answer.err
    assert parse((home / "page-stats.yaml").read_text()).name == "page-stats"
    assert pipeline("validate", "page-stats.yaml").code == 0


def test_init_never_overwrites(pipeline: Klamm, home: Path) -> None:
    (home / "mine.yaml").write_text("mine")

    answer = pipeline("init", "page-stats", "-f", "mine.yaml")

    assert answer.code == 2
    assert "mine.yaml is there already" in answer.err
    assert (home / "mine.yaml").read_text() == "mine"


def test_init_refuses_what_cannot_be_a_name(pipeline: Klamm, home: Path) -> None:
    answer = pipeline("init", "a b")

    assert answer.code == 2
    assert "expected a name of letters" in answer.err
    assert list(home.iterdir()) == []


def test_validate_names_every_problem_with_place_key_and_nearest_spelling(
    pipeline: Klamm, home: Path
) -> None:
    file = files.write(home, WRONG)

    answer = pipeline("validate", file, "-o", "table")

    assert answer.code == 2
    first, second = answer.text.splitlines()
    assert first == (
        f"{file}:2:33: source.format: expected json, avro, csv, text or bytes, "
        'found "jsn" (did you mean json?)'
    )
    assert second.startswith(f"{file}:4:18: sinks[0].delivry: expected one of the keys topic, ")
    assert second.endswith('found the key "delivry" (did you mean delivery?)')


def test_validate_gives_problems_as_json(pipeline: Klamm, home: Path) -> None:
    good, bad = (
        files.write(home, files.JOIN, "good.yaml"),
        files.write(home, WRONG, "bad.yaml"),
    )

    answer = pipeline("validate", good, bad)

    assert answer.code == 2
    assert answer.rows[0] == {"file": good, "valid": True, "problems": []}
    assert answer.rows[1]["problems"][0] == {
        "line": 2,
        "column": 33,
        "key": "source.format",
        "expected": "json, avro, csv, text or bytes",
        "found": '"jsn"',
        "nearest": "json",
    }


def test_validate_goes_on_after_a_file_that_cannot_be_read(pipeline: Klamm, home: Path) -> None:
    good = files.write(home, files.JOIN)

    answer = pipeline("validate", "nowhere.yaml", good, "-o", "table")

    assert answer.code == 2
    assert answer.text.splitlines() == [
        "nowhere.yaml: expected a file that can be read, found No such file or directory",
        f"{good}: ok",
    ]


@pytest.mark.parametrize(
    "command", [("run",), ("plan",), ("replay", "--from", "earliest"), ("status",), ("reset",)]
)
def test_commands_refuse_a_bad_file_with_all_its_problems(
    pipeline: Klamm, home: Path, command: tuple[str, ...]
) -> None:
    answer = pipeline(*command, files.write(home, WRONG))

    assert (answer.code, answer.out) == (2, b"")
    assert "2 problems in the pipeline" in answer.err
    assert "did you mean json?" in answer.err
    assert "did you mean delivery?" in answer.err


def test_file_that_is_not_there_is_wrong_usage_with_a_way_out(pipeline: Klamm) -> None:
    answer = pipeline("run", "nowhere.yaml")

    assert answer.code == 2
    assert "nowhere.yaml cannot be read: No such file or directory" in answer.err
    assert "klamm pipeline init -f nowhere.yaml" in answer.err


def test_schema_is_the_models(pipeline: Klamm) -> None:
    assert json.loads(pipeline("schema").out) == to_json_schema()


def test_schema_that_is_shipped_is_the_one_that_is_printed(pipeline: Klamm) -> None:
    assert PIPELINE_SCHEMA.read_bytes() == pipeline("schema").out, "run `make docs`"


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
