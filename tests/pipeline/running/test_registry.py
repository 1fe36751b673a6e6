"""The registry of runs: who runs, who ended how, who died, and where the next run starts."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from klamm.log.disk import RealDisk
from klamm.pipeline.running import registry
from klamm.pipeline.running.registry import AlreadyRuns, Run, State
from klamm.pipeline.spec import Edge, FromOffsets, FromTime, PartitionOffset, Start
from klamm.server.storage import Paths, ensure_formatted


@pytest.fixture
def env(tmp_path: Path) -> Mapping[str, str]:
    return {
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
    }


def a_run(name: str = "stats") -> Run:
    return registry.run_of_this_process(
        name,
        file=f"/pipes/{name}.yaml",
        bootstrap="localhost:9092",
        master="local[*]",
        checkpoint="/checkpoint",
        warehouse="/lake",
    )


def of_another(process: "subprocess.Popen[bytes]") -> Run:
    return replace(a_run(), pid=process.pid, process_birth=registry.process_birth(process.pid))


def write(run: Run, env: Mapping[str, str]) -> None:
    """As another process would have left it."""
    folder = registry.state_folder(run.name, env)
    folder.mkdir(parents=True, exist_ok=True)
    facts = {name: getattr(run, name) for name in Run.__dataclass_fields__}
    (folder / "run.json").write_text(json.dumps(facts))


def test_folders_follow_xdg(env: Mapping[str, str], tmp_path: Path) -> None:
    assert (
        registry.checkpoint_of("stats", env) == f"{tmp_path}/data/klamm/pipelines/stats/checkpoint"
    )
    assert registry.warehouse(env) == f"{tmp_path}/data/klamm/lake"
    assert registry.checkpoint_of("stats", {"HOME": "/home/ann"}) == (
        "/home/ann/.local/share/klamm/pipelines/stats/checkpoint"
    )
    assert str(registry.state_folder("stats", {"HOME": "/home/ann"})) == (
        "/home/ann/.local/state/klamm/pipelines/stats"
    )


def test_run_is_seen_while_it_lasts_and_its_end_afterwards(env: Mapping[str, str]) -> None:
    run = a_run()

    with registry.registered(run, env):
        assert registry.look("stats", env) == run
        registry.note_progress("stats", {"lag": 7}, env)
        assert registry.look("stats", env) == replace(run, state=State.RUNNING)

    ended = registry.look("stats", env)
    assert ended is not None
    assert (ended.state, ended.error) == (State.STOPPED, None)
    assert ended.ended_ms is not None
    assert registry.last_progress("stats", env) == {"lag": 7}


def test_run_that_fails_keeps_the_reason(env: Mapping[str, str]) -> None:
    with pytest.raises(RuntimeError), registry.registered(a_run(), env):
        raise RuntimeError("topic clicks is not there")

    failed = registry.look("stats", env)
    assert failed is not None
    assert (failed.state, failed.error) == (State.FAILED, "topic clicks is not there")


def test_run_that_is_interrupted_was_stopped(env: Mapping[str, str]) -> None:
    with pytest.raises(KeyboardInterrupt), registry.registered(a_run(), env):
        raise KeyboardInterrupt

    stopped = registry.look("stats", env)
    assert stopped is not None
    assert stopped.state is State.STOPPED


def test_run_whose_process_is_gone_has_died(env: Mapping[str, str]) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        run = of_another(process)
        write(run, env)
        alive = registry.look("stats", env)
        process.kill()

    assert alive == run
    assert registry.look("stats", env) == replace(run, state=State.DIED)


def test_process_that_only_has_the_number_of_the_run_is_not_taken_for_it(
    env: Mapping[str, str],
) -> None:
    write(replace(a_run(), process_birth="another boot/1"), env)

    found = registry.look("stats", env)

    assert found is not None
    assert found.state is State.DIED


def test_second_run_of_a_pipeline_is_refused(env: Mapping[str, str]) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        write(of_another(process), env)
        refused = pytest.raises(AlreadyRuns, match=f"stats runs already .pid {process.pid}")
        with refused, registry.registered(a_run(), env):
            pass
        process.kill()

    with registry.registered(a_run(), env):
        found = registry.look("stats", env)
    assert found is not None
    assert found.pid == os.getpid()


def test_registering_twice_in_one_process_is_one_run(env: Mapping[str, str]) -> None:
    with registry.registered(a_run(), env):
        with registry.registered(a_run(), env):
            pass
        inside = registry.look("stats", env)

    assert inside is not None
    assert inside.state is State.STARTING


def test_all_runs_are_listed_by_name(env: Mapping[str, str]) -> None:
    assert registry.all_runs(env) == []

    for name in ("b", "a"):
        with registry.registered(a_run(name), env):
            pass

    assert [run.name for run in registry.all_runs(env)] == ["a", "b"]


def test_file_of_another_version_is_no_run(env: Mapping[str, str]) -> None:
    folder = registry.state_folder("stats", env)
    folder.mkdir(parents=True)
    for text in ("{}", '{"state": "odd"}', "[]", "not json"):
        (folder / "run.json").write_text(text)
        assert registry.look("stats", env) is None


@pytest.mark.parametrize(
    "start",
    [
        Edge.EARLIEST,
        FromTime(1794818587000),
        FromOffsets((PartitionOffset("", 0, 42),)),
        FromOffsets((PartitionOffset("clicks", 0, 42), PartitionOffset("orders", 1, 7))),
    ],
)
def test_start_of_the_next_run_is_remembered(env: Mapping[str, str], start: Start) -> None:
    assert registry.start_override("stats", env) is None

    registry.set_start_override("stats", start, env)
    remembered = registry.start_override("stats", env)
    registry.clear_start_override("stats", env)

    assert remembered == start
    assert registry.start_override("stats", env) is None


def test_forgotten_pipeline_has_no_past(env: Mapping[str, str]) -> None:
    with registry.registered(a_run(), env):
        registry.note_progress("stats", {}, env)
    registry.set_start_override("stats", Edge.EARLIEST, env)

    registry.forget("stats", env)

    assert (registry.look("stats", env), registry.last_progress("stats", env)) == (None, None)
    assert registry.start_override("stats", env) is None


def test_broker_starts_where_only_pipelines_have_kept_data(env: Mapping[str, str]) -> None:
    """Its default directory is the one below which pipelines keep theirs."""
    Path(registry.checkpoint_of("stats", env)).mkdir(parents=True)
    Path(registry.warehouse(env)).mkdir()
    directory = f"{env['XDG_DATA_HOME']}/klamm"

    ensure_formatted(RealDisk(), Paths((directory,), directory), node_id=1, chance=Random(1), now=0)

    assert (Path(directory) / "meta.properties").exists()
