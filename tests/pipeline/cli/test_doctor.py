"""`klamm pipeline doctor` and `fetch`: what is there, what is missing, and what to do about it."""

from pathlib import Path

import pytest

from cli.commands import Klamm
from klamm.cli.doctor import Status
from klamm.cli.pipeline.doctor import GIB, check_memory, findings
from klamm.pipeline.jars import LOCK
from pipeline.setup.repository import serving
from support.brokers import free_port


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "klamm" / "jars"


def test_every_need_is_looked_at(pipeline: Klamm) -> None:
    rows = pipeline("doctor", "-b", f"127.0.0.1:{free_port()}").rows

    checks = {row["check"]: row for row in rows}
    assert {"java", "pyspark", "pandas", "pyarrow", "mirror", "memory", "broker"} <= set(checks)
    assert len([row for row in rows if row["check"].startswith("jar for ")]) == len(LOCK)
    assert checks["broker"]["status"] == "warn"
    assert checks["broker"]["hint"] == "klamm serve"


def test_missing_java_is_a_failure_that_says_what_to_install(
    pipeline: Klamm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    answer = pipeline("doctor")

    assert answer.code == 1
    (java,) = (row for row in answer.rows if row["check"] == "java")
    assert (java["status"], java["found"]) == ("fail", "no Java was found")
    assert "openjdk-17" in java["hint"]


def test_missing_jar_is_named_with_its_size(pipeline: Klamm, empty_cache: Path) -> None:
    rows = [row for row in pipeline("doctor").rows if row["check"].startswith("jar for ")]

    assert {row["status"] for row in rows} == {"warn"}
    assert {row["hint"] for row in rows} == {"klamm pipeline fetch"}
    assert "kafka-clients:3.9.1 (8.8 MiB) is missing" in rows[2]["found"]


def test_jars_dir_is_printed_only_if_all_of_them_are_verified(
    pipeline: Klamm, empty_cache: Path
) -> None:
    answer = pipeline("doctor", "--jars-dir")

    assert (answer.code, answer.out) == (1, b"")
    assert f"{len(LOCK)} of {len(LOCK)} jars are not here" in answer.err
    assert "klamm pipeline fetch" in answer.err


def test_fetch_that_cannot_says_why(
    pipeline: Klamm, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as repository:
        monkeypatch.setenv("KLAMM_MAVEN_MIRROR", repository.address)
        answer = pipeline("fetch")

    assert (answer.code, answer.out) == (1, b"")
    assert f"fetching {len(LOCK)} jars (64." in answer.err
    assert "answered 404" in answer.err
    assert "KLAMM_MAVEN_MIRROR" in answer.err


@pytest.mark.parametrize(
    ("available", "status"), [(8 * GIB, Status.OK), (1 * GIB, Status.WARN), (None, Status.OK)]
)
def test_little_memory_is_told(tmp_path: Path, available: int | None, status: Status) -> None:
    meminfo = tmp_path / "meminfo"
    if available is not None:
        meminfo.write_text(
            f"MemTotal:       16777216 kB\nMemAvailable:   {available // 1024} kB\nHugePages_Total:       0\n"
        )

    assert check_memory(meminfo).status is status


def test_packages_are_those_of_the_extra() -> None:
    names = {finding.check for finding in findings("127.0.0.1:1", ())}

    assert {"pyspark", "pandas", "pyarrow", "numpy", "prometheus-client"} <= names
    assert "typer" not in names
