"""The recipes in examples/testing work as they stand there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from klamm.testing import KafkaContainer
from support import cache, kafka_jars, tools

RECIPES = Path(__file__).parents[2] / "examples" / "testing"
KAFKAJS = Path(__file__).parents[1] / "compat" / "kafkajs"
# As a user's shell finds klamm.
ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


@pytest.mark.compat
def test_python_clients(tmp_path: Path) -> None:
    shutil.copytree(RECIPES, tmp_path / "recipes")
    (tmp_path / "pytest.ini").touch()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "recipes"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert done.returncode == 0, done.stdout
    skipped = re.findall(r"SKIPPED .*: (.*)", done.stdout)
    if skipped:
        pytest.skip(f"`make compat` installs what is missing: {'; '.join(skipped)}")


@pytest.mark.compat
def test_node() -> None:
    node = tools.require("node", why="the recipe is written for it")
    npm = tools.require("npm", why="it brings kafkajs")
    lock = KAFKAJS / "package-lock.json"

    def install(target: Path) -> None:
        for name in ("package-lock.json", "package.json"):
            shutil.copy(KAFKAJS / name, target)
        tools.download([npm, "ci", "--no-audit", "--no-fund"], what="kafkajs", cwd=target)

    modules = cache.directory(f"kafkajs-{cache.fingerprint(lock.read_bytes())}", install)
    env = {
        **ENVIRONMENT,
        "NODE_PATH": str(modules / "node_modules"),
        "KAFKAJS_NO_PARTITIONER_WARNING": "1",
    }

    said = tools.run([node, RECIPES / "node.js"], env=env, timeout=120)

    found = re.fullmatch(r"read one from broker (\d+)\n", said)
    assert found, said


@pytest.mark.compat
def test_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", ENVIRONMENT["PATH"])

    assert "read one" in kafka_jars.run_source(RECIPES / "KlammTest.java", timeout=120)


def test_a_suite_for_testcontainers_moves_by_one_import() -> None:
    kafka = (
        KafkaContainer("confluentinc/cp-kafka:7.6.0")
        .with_kraft()
        .with_exposed_ports(9093)
        .with_env("KAFKA_AUTO_CREATE_TOPICS_ENABLE", "false")
        .with_env("KAFKA_HEAP_OPTS", "-Xmx512m")
    )
    with kafka:
        host, port = kafka.get_container_host_ip(), kafka.get_exposed_port(9093)
        assert kafka.get_bootstrap_server() == f"{host}:{port}"
        assert kafka.env["KAFKA_HEAP_OPTS"] == "-Xmx512m"
        kafka.broker.topic("orders").produce(["one"])
        assert kafka.broker.topics() == ["orders"]
