"""What Spark is told. No Spark runs here."""

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from klamm.pipeline.jars import Use
from klamm.pipeline.session import SessionSettings, session_options


@pytest.mark.parametrize(
    ("master", "host"),
    [
        ("local[2]", "127.0.0.1"),
        ("spark://127.0.0.1:7077", "127.0.0.1"),
        ("spark://cluster.example:7077", None),
        ("yarn", None),
    ],
)
def test_driver_is_on_loopback_only_if_all_is_on_this_machine(
    master: str, host: str | None
) -> None:
    options = session_options(SessionSettings(name="p", master=master), [])

    assert options.get("spark.driver.host") == host
    assert options.get("spark.driver.bindAddress") == host


def test_given_driver_host_wins() -> None:
    settings = SessionSettings(name="p", master="yarn", driver_host="10.0.0.7")

    assert session_options(settings, [])["spark.driver.host"] == "10.0.0.7"


def test_catalog_is_files_in_the_warehouse_unless_another_is_given() -> None:
    files = SessionSettings(name="p", warehouse="/data/lake")
    rest = SessionSettings(name="p", catalog={"type": "rest", "uri": "http://catalog"})

    assert catalog_options(files) == {
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": "/data/lake",
        "spark.sql.catalog.lake.cache-enabled": "false",
    }
    assert catalog_options(rest) == {
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "rest",
        "spark.sql.catalog.lake.uri": "http://catalog",
        "spark.sql.catalog.lake.cache-enabled": "false",
    }


def test_only_what_is_used_is_loaded() -> None:
    options = session_options(
        SessionSettings(name="p", uses=(Use.TOPICS,)), [Path("/a"), Path("/b")]
    )

    assert options["spark.jars"] == "/a,/b"
    assert "spark.sql.extensions" not in options
    assert catalog_options(SessionSettings(name="p", uses=(Use.TOPICS,), warehouse="/w")) == {}


def test_sparks_own_options_win() -> None:
    settings = SessionSettings(name="p", options={"spark.sql.shuffle.partitions": "64"})

    assert session_options(settings, [])["spark.sql.shuffle.partitions"] == "64"


def test_jars_of_the_users_own_come_on_top() -> None:
    settings = SessionSettings(name="p", options={"spark.jars": "/driver.jar"})

    assert session_options(settings, [Path("/a")])["spark.jars"] == "/a,/driver.jar"
    assert session_options(settings, [])["spark.jars"] == "/driver.jar"


def catalog_options(settings: SessionSettings) -> dict[str, str]:
    options = session_options(settings, [])
    return {key: value for key, value in options.items() if key.startswith("spark.sql.catalog")}
