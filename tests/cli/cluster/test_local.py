"""A cluster on this machine: made, started, stopped, killed and deleted by command."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.commands import Klamm
from klamm.cli.cluster.local import LocalCluster
from support.brokers import free_port


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "cluster"
    if (tmp_path / "cluster" / "cluster.json").exists():
        LocalCluster.open(tmp_path / "cluster").destroy()


def test_a_cluster_is_created_stopped_started_and_destroyed(klamm: Klamm, directory: Path) -> None:
    at = ("--dir", str(directory))

    created = klamm("cluster", "create", "--brokers", "1", "--port", str(free_port()), *at)
    facts = created.rows[0]
    listed = klamm("topic", "list", "-b", facts["bootstrap"])
    stopped = klamm("cluster", "stop", *at).rows[0]
    started = klamm("cluster", "start", "1", *at).rows[0]
    destroyed = klamm("cluster", "destroy", "--yes", *at)

    assert listed.code == 0
    assert facts["nodes"][0]["pid"] is not None
    assert stopped["nodes"][0]["pid"] is None
    assert started["nodes"][0]["pid"] not in (None, facts["nodes"][0]["pid"])
    assert destroyed.code == 0
    assert not directory.exists()


def test_what_is_there_is_not_overwritten(klamm: Klamm, directory: Path) -> None:
    at = ("--dir", str(directory))
    klamm("cluster", "create", "--no-start", *at)

    again = klamm("cluster", "create", "--no-start", *at)
    elsewhere = klamm("cluster", "create", "--no-start", "--dir", str(directory.parent))

    assert again.code == 1
    assert "already" in again.err
    assert elsewhere.code == 1
    assert "is not empty" in elsewhere.err


def test_every_node_has_a_config_of_its_own_and_all_the_same_voters(
    klamm: Klamm, directory: Path
) -> None:
    klamm("cluster", "create", "--brokers", "4", "--no-start", "--dir", str(directory))

    cluster = LocalCluster.open(directory)
    configs = [
        dict(line.split("=", 1) for line in node.config.read_text().splitlines())
        for node in cluster.nodes
    ]

    assert [each["process.roles"] for each in configs] == ["broker,controller"] * 3 + ["broker"]
    assert len({each["controller.quorum.voters"] for each in configs}) == 1
    assert len({each["listeners"] for each in configs}) == 4
    assert {each["default.replication.factor"] for each in configs} == {"3"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("start", "7"), "there is no node 7"),
        (("destroy",), "stays"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(
    klamm: Klamm, directory: Path, arguments: tuple[str, ...], says: str
) -> None:
    klamm("cluster", "create", "--no-start", "--dir", str(directory))

    refused = klamm("cluster", *arguments, "--dir", str(directory))

    assert refused.code == 1
    assert says in refused.err


def test_without_a_cluster_the_way_to_one_is_told(klamm: Klamm, tmp_path: Path) -> None:
    refused = klamm("cluster", "start", "--dir", str(tmp_path))

    assert refused.code == 1
    assert "`klamm cluster create` makes one" in refused.err
