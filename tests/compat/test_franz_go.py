"""franz-go: go/main.go runs all checks, each is a test here."""

from pathlib import Path

import pytest

from support import cache, checks, tools

pytestmark = pytest.mark.compat

FOLDER = Path(__file__).parent / "go"

CHECKS = [
    "producer writes with acks=0",
    "producer writes with acks=1",
    "producer writes with acks=all",
    "producer is idempotent",
    "producer compresses with gzip",
    "producer compresses with snappy",
    "producer compresses with lz4",
    "producer compresses with zstd",
    "producer keeps keys headers timestamps and nulls",
    "producer is refused too large a batch",
    "producer makes an unknown topic",
    "consumer starts at an offset",
    "consumer starts at a timestamp",
    "consumer starts before the end",
    "consumer reads only what is committed",
    "consumer reads without sessions",
    "consumer reads batches larger than its limits",
    "consumer waits for new data",
    "admin makes lists and deletes topics",
    "admin is refused bad topics",
    "admin adds partitions",
    "admin describes and alters configs",
    "admin lists offsets and deletes records",
    "admin describes cluster producers and directories",
]


def _program() -> Path:
    go = tools.require("go", why="franz-go is built with it")
    sources = [FOLDER / name for name in ("go.mod", "go.sum", "main.go")]

    def build(target: Path) -> None:
        command: list[str | Path] = [
            go,
            "build",
            "-mod=readonly",
            "-buildvcs=false",
            "-o",
            target / "check",
            ".",
        ]
        tools.download([go, "mod", "download"], what="franz-go", cwd=FOLDER)
        tools.run(command, timeout=tools.DOWNLOAD_SECONDS, cwd=FOLDER)

    fingerprint = cache.fingerprint(*(source.read_bytes() for source in sources))
    return cache.directory(f"franz-go-{fingerprint}", build) / "check"


@pytest.fixture(scope="module")
def outcomes(bootstrap: str) -> dict[str, str]:
    return checks.outcomes(tools.run([_program(), bootstrap], timeout=180))


def test_program_ran_every_check(outcomes: dict[str, str]) -> None:
    assert list(outcomes) == CHECKS


@pytest.mark.parametrize("check", CHECKS)
def test_client_is_served(outcomes: dict[str, str], check: str) -> None:
    assert outcomes.get(check, "did not run") == "ok"
