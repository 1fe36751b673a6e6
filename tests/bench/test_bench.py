"""The benchmark itself, on a load far too short to mean anything: does it run, and what does its report hold?"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.kafka_jars import classpath

ROOT = Path(__file__).parents[2]

PRODUCE_FIGURES = {
    "requests_per_second",
    "megabytes_per_second",
    "p50_us",
    "p99_us",
    "cpu_us_per_request",
    "cpu_seconds_per_gb",
    "rss_mb",
}


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def lines_of(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, object]]:
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["workload"]: row for row in rows}


@pytest.fixture(scope="module")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, object]], Path]:
    file = tmp_path_factory.mktemp("bench") / "report.json"
    done = bench(
        "--only", "fetch64k,small1", "--seconds", "0.2", "--rounds", "1", "--json", file.as_posix()
    )
    return lines_of(done), file


def test_in_a_pipe_each_workload_is_one_json_object(
    tiny_run: tuple[dict[str, dict[str, object]], Path],
) -> None:
    lines, _ = tiny_run

    assert list(lines) == ["small1", "fetch64k"]
    for line in lines.values():
        assert set(line) == {"workload", "about", "klamm"}
        figures = line["klamm"]
        assert isinstance(figures, dict)
        assert set(figures) == PRODUCE_FIGURES
        assert all(value >= 0 for value in figures.values())
        assert 0 < figures["p50_us"] <= figures["p99_us"]
        assert figures["requests_per_second"] > 0


def test_the_report_file_holds_the_same_results_and_the_machine(
    tiny_run: tuple[dict[str, dict[str, object]], Path],
) -> None:
    lines, file = tiny_run

    document = json.loads(file.read_text())

    assert document["results"] == list(lines.values())
    assert document["plan"] == {"rounds": 1, "seconds": 0.2}
    assert set(document["machine"]) == {"cores", "system", "python"}


@pytest.mark.parametrize(
    "only",
    [
        "small16,batch64k,batch1m,fetch1m,e2e",
        "join,commit,commit16,transact,metadata,create",
        "confluent-produce,confluent-consume",
    ],
)
def test_every_workload_of_the_usual_run_and_real_clients_are_measured(only: str) -> None:
    done = bench("--only", only, "--seconds", "0.1", "--rounds", "1")

    lines = lines_of(done)

    assert ",".join(lines) == only
    for line in lines.values():
        figures = line["klamm"]
        assert isinstance(figures, dict)
        assert figures["requests_per_second"] > 0
        assert figures["cpu_us_per_request"] > 0


def test_clients_of_java_are_asked_for_by_the_variable_that_finds_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KAFKA_LIBS", raising=False)

    done = bench("--only", "java-produce", "--rounds", "1")

    assert done.returncode == 1
    assert "needs java, and Apache Kafka's jars in the folder that KAFKA_LIBS names" in done.stderr


@pytest.mark.compat
def test_clients_of_java_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_LIBS", classpath().removesuffix("/*"))

    done = bench("--only", "java-produce,java-consume", "--seconds", "0.01", "--rounds", "1")

    assert list(lines_of(done)) == ["java-produce", "java-consume"]


def test_a_wrong_workload_is_refused_with_the_names_that_exist() -> None:
    done = bench("--only", "small1,smal16")

    assert done.returncode == 2
    assert "no workload smal16; there are start, small1, small16," in done.stderr


def test_a_reference_on_another_machine_is_refused() -> None:
    done = bench("--reference", "192.0.2.1:9092")

    assert done.returncode == 2
    assert "192.0.2.1 is not this machine" in done.stderr
