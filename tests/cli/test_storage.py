"""klamm storage format, info and random-uuid."""

from pathlib import Path

import pytest

from cli.commands import Klamm
from klamm.base.ids import Uuid

CLUSTER = "ZmFtb3VzLWZhbXVsdXMtZg"


@pytest.fixture
def config(tmp_path: Path) -> str:
    file = tmp_path / "server.properties"
    file.write_text(f"log.dirs={tmp_path}/one,{tmp_path}/two\n")
    return str(file)


def test_formatted_directories_belong_to_the_cluster(
    klamm: Klamm, config: str, tmp_path: Path
) -> None:
    formatted = klamm("storage", "format", "-t", CLUSTER, "-c", config)

    assert formatted.code == 0
    assert len(formatted.text.splitlines()) == 2
    info = klamm("storage", "info", "-c", config).rows
    assert [row["directory"] for row in info] == [f"{tmp_path}/one", f"{tmp_path}/two"]
    assert {row["cluster_id"] for row in info} == {CLUSTER}
    assert len({row["directory_id"] for row in info}) == 2


def test_info_tells_what_is_not_formatted(klamm: Klamm, config: str) -> None:
    assert [row["formatted"] for row in klamm("storage", "info", "-c", config).rows] == [
        False,
        False,
    ]


def test_formatting_twice_is_refused_unless_asked(klamm: Klamm, config: str) -> None:
    klamm("storage", "format", "--cluster-id", CLUSTER, "--config", config)

    refused = klamm("storage", "format", "--cluster-id", CLUSTER, "--config", config)
    ignored = klamm(
        "storage", "format", "--cluster-id", CLUSTER, "--config", config, "--ignore-formatted"
    )

    assert refused.code == 1
    assert "already formatted" in refused.err
    assert ignored.code == 0


def test_bad_settings_are_wrong_usage(klamm: Klamm) -> None:
    answer = klamm("storage", "info", "--set", "no.such.setting=1")

    assert answer.code == 2
    assert "no.such.setting" in answer.err


def test_random_ids_differ_and_can_stand_behind_an_option(klamm: Klamm) -> None:
    ids = {klamm("storage", "random-uuid").text.strip() for _ in range(20)}

    assert len(ids) == 20
    assert not any(text.startswith("-") for text in ids)
    assert all(str(Uuid.parse(text)) == text for text in ids)
