"""klamm doctor: what it looks at, and what it makes of it."""

import socket
from pathlib import Path

from cli.commands import Klamm
from klamm.cli.doctor import Status, check_directory
from support.brokers import free_port


def findings(rows: list[dict[str, str]]) -> dict[str, str]:
    return {row["check"]: row["status"] for row in rows}


def test_healthy_machine_has_no_failure(ask: Klamm, tmp_path: Path) -> None:
    answer = ask("doctor", "--data", str(tmp_path / "data"))

    assert answer.code == 0
    assert "fail" not in findings(answer.rows).values()
    assert any("cluster" in row["found"] for row in answer.rows if row["check"] == "broker")


def test_free_port_is_fine(klamm: Klamm, tmp_path: Path) -> None:
    answer = klamm("doctor", "--data", str(tmp_path), "-b", f"127.0.0.1:{free_port()}")

    broker = next(row for row in answer.rows if row["check"] == "broker")
    assert (broker["status"], broker["hint"]) == ("ok", "klamm serve")


def test_stranger_on_the_port_is_a_failure(klamm: Klamm, tmp_path: Path) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", free_port()))
        stranger.listen()

        answer = klamm(
            "doctor", "--data", str(tmp_path), "-b", f"127.0.0.1:{stranger.getsockname()[1]}"
        )

    assert answer.code == 1
    assert findings(answer.rows)["broker"] == "fail"


def test_directory_with_something_else_in_it_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()

    assert check_directory(tmp_path).status is Status.FAIL
    assert check_directory(tmp_path / "new" / "deep").status is Status.OK
    assert check_directory(tmp_path / "thesis.tex" / "data").status is Status.FAIL


def test_directory_of_a_broker_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").touch()
    (tmp_path / "orders-0").mkdir()

    assert check_directory(tmp_path).found == f"{tmp_path} holds 1 partitions"
