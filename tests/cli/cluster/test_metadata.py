"""klamm cluster metadata dump."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.commands import Klamm
from support.brokers import Broker, free_port, start_klamm


@pytest.fixture(params=[1_000, 20_000_000], ids=["snapshot", "log"])
def house(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A node whose controller has a listener of its own; with snapshots, or with nothing but the log."""
    clients, controllers = free_port(), free_port()
    broker = start_klamm(
        port=clients,
        settings={
            "process.roles": "broker,controller",
            "node.id": 1,
            "listeners": f"PLAINTEXT://127.0.0.1:{clients},CONTROLLER://127.0.0.1:{controllers}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.quorum.voters": f"1@127.0.0.1:{controllers}",
            "metadata.log.max.record.bytes.between.snapshots": request.param,
        },
    )
    yield broker
    broker.stop()


def topics(rows: list[dict[str, object]]) -> set[str]:
    return {row["fields"]["name"] for row in rows if row["record"] == "TopicRecord"}  # type: ignore[index]


def test_a_running_cluster_and_its_files_say_the_same(house: Broker, klamm: Klamm) -> None:
    names = {f"topic-{number}" for number in range(30)}
    assert klamm("topic", "create", *names, "-b", house.address).code == 0

    asked = klamm("cluster", "metadata", "dump", "-b", house.address)
    read = klamm("cluster", "metadata", "dump", str(house.data_dir))

    assert (asked.code, read.code) == (0, 0), asked.err + read.err
    assert topics(asked.rows) == topics(read.rows) == names


def test_one_file_is_enough(house: Broker, klamm: Klamm) -> None:
    first = house.data_dir / "bootstrap.checkpoint"

    answer = klamm("cluster", "metadata", "dump", str(first))

    levels = {
        row["fields"]["name"]: row["fields"]["feature_level"]
        for row in answer.rows
        if row["record"] == "FeatureLevelRecord"
    }
    assert levels["metadata.version"] == 30


def test_a_controller_without_a_listener_is_read_from_its_files(ask: Klamm) -> None:
    answer = ask("cluster", "metadata", "dump")

    assert answer.code == 1
    assert "name its data directory" in answer.err


def test_what_holds_no_metadata_is_told_in_a_line(klamm: Klamm, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("")
    for path in (tmp_path, tmp_path / "x.txt", tmp_path / "nowhere"):
        answer = klamm("cluster", "metadata", "dump", str(path))

        assert answer.code == 2
        assert answer.err.count("\n") <= 2
