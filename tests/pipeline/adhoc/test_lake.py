"""Which tables a warehouse holds, as files tell."""

from pathlib import Path

from klamm.pipeline.adhoc.lake import full_name, short_name, tables_in


def test_folders_with_metadata_are_tables(tmp_path: Path) -> None:
    for folder in ("default/clicks/metadata", "sales/orders/metadata", "default/empty", "delta/x"):
        (tmp_path / folder).mkdir(parents=True)

    assert tables_in(str(tmp_path)) == ["default.clicks", "sales.orders"]
    assert tables_in(tmp_path.as_uri()) == ["default.clicks", "sales.orders"]


def test_warehouse_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert tables_in(str(tmp_path / "none")) == []


def test_warehouse_on_another_machine_can_only_be_asked_by_spark() -> None:
    assert tables_in("s3a://bucket/lake") is None


def test_names_of_the_default_namespace_are_short() -> None:
    assert (short_name("default.clicks"), short_name("sales.orders")) == ("clicks", None)
    assert full_name("sales.orders") == "lake.sales.orders"
