"""What the repository has for deploying: the steps of the action run, and what the other files name exists."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from klamm.base.settings.load import load
from klamm.testing import External

ROOT = Path(__file__).parents[2]
KLAMM = Path(sys.executable).with_name("klamm")


def test_the_action_starts_a_broker_and_tells_where_it_is(tmp_path: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (start,) = [step for step in action["runs"]["steps"] if step.get("id") == "start"]
    # What its first step installs.
    installed = tmp_path / "klamm" / "bin"
    installed.mkdir(parents=True)
    (installed / "klamm").symlink_to(KLAMM)
    told = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_ENV")}
    env = {**os.environ, **{name: str(path) for name, path in told.items()}}
    settings = "auto.create.topics.enable=false\n\nnum.partitions=3\n"

    subprocess.run(
        ["bash", "-e", "-c", start["run"]],
        env={**env, "RUNNER_TEMP": str(tmp_path), "PORT": "0", "SETTINGS": settings},
        check=True,
        timeout=300,
    )

    ready = json.loads((tmp_path / "klamm-ready").read_text())
    try:
        assert told["GITHUB_OUTPUT"].read_text() == f"bootstrap-servers={ready['address']}\n"
        assert told["GITHUB_ENV"].read_text() == f"KLAMM_BOOTSTRAP={ready['address']}\n"
        External(ready["address"]).topic("orders").produce(["one"])
    finally:
        os.kill(ready["pid"], signal.SIGTERM)


def test_the_image_starts_what_there_is() -> None:
    text = (ROOT / "deploy" / "Dockerfile").read_text()
    variables = dict(re.findall(r"(KLAMM_[A-Z_]+)=(\S+)", text.partition("ENV ")[2]))

    settings = load(env=variables)

    assert settings.log.directories == ("/var/lib/klamm/data",)
    assert [(each.host, each.port) for each in settings.listeners.for_clients()] == [
        ("0.0.0.0", 9092)
    ]
    checked = re.search(r"HEALTHCHECK.*?CMD (\[.*?\])", text, re.DOTALL)
    assert checked
    for command in (json.loads(checked[1]), ["klamm", "serve"]):
        subprocess.run([KLAMM, *command[1:], "--help"], check=True, capture_output=True)
    assert re.search(r"^USER klamm$", text, re.MULTILINE)


def test_the_unit_is_one(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    # It wants the program to be there.
    text = (
        (ROOT / "deploy" / "klamm.service").read_text().replace("/opt/klamm/bin/klamm", "/bin/true")
    )
    unit = tmp_path / "klamm.service"
    unit.write_text(text)

    done = subprocess.run([analyze, "verify", unit], capture_output=True, text=True, check=False)

    assert "klamm.service" not in done.stderr
