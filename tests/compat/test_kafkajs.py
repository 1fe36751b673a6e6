"""kafkajs, the old client of Node: kafkajs/check.js runs all checks, each is a test here.

lz4 and zstd are left out: kafkajs needs modules for them that are compiled at installation.
"""

import os
import shutil
from pathlib import Path

import pytest

from support import cache, checks, tools

pytestmark = pytest.mark.compat

FOLDER = Path(__file__).parent / "kafkajs"

CHECKS = [
    "producer writes with acks=0",
    "producer writes with acks=1",
    "producer writes with acks=-1",
    "producer compresses with none",
    "producer compresses with gzip",
    "producer compresses with snappy",
    "producer is idempotent",
    "producer keeps keys headers timestamps and nulls",
    "fetch starts at an offset",
    "fetch waits for new data",
    "fetch out of range is refused",
    "admin makes lists and deletes topics",
    "admin is refused a bad topic",
    "admin adds partitions",
    "admin describes and alters configs",
    "admin lists offsets and deletes records",
    "admin describes the cluster",
]


def _modules() -> Path:
    npm = tools.require("npm", why="it brings kafkajs")
    lock = FOLDER / "package-lock.json"

    def install(target: Path) -> None:
        shutil.copy(lock, target)
        shutil.copy(FOLDER / "package.json", target)
        tools.download([npm, "ci", "--no-audit", "--no-fund"], what="kafkajs", cwd=target)

    fingerprint = cache.fingerprint(lock.read_bytes())
    return cache.directory(f"kafkajs-{fingerprint}", install) / "node_modules"


@pytest.fixture(scope="module")
def outcomes(bootstrap: str) -> dict[str, str]:
    node = tools.require("node", why="kafkajs runs on it")
    env = {**os.environ, "NODE_PATH": str(_modules())}
    return checks.outcomes(tools.run([node, FOLDER / "check.js", bootstrap], env=env, timeout=120))


def test_program_ran_every_check(outcomes: dict[str, str]) -> None:
    assert list(outcomes) == CHECKS


@pytest.mark.parametrize("check", CHECKS)
def test_client_is_served(outcomes: dict[str, str], check: str) -> None:
    assert outcomes.get(check, "did not run") == "ok"
