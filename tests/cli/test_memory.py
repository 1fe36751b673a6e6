"""klamm serve --memory: its directory is gone with the broker; what a killed one left goes with the next start."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from klamm.server.world.memory import LOCK, PREFIX, memory_directory, sweep

KLAMM = str(Path(sys.executable).with_name("klamm"))


def left_behind(parent: Path, name: str) -> Path:
    """What kill -9 leaves: a directory whose lock nobody holds."""
    directory = parent / f"{PREFIX}{name}"
    (directory / "data").mkdir(parents=True)
    (directory / LOCK).touch()
    (directory / "data" / "00000000000000000000.log").write_bytes(b"x")
    return directory


def test_directory_is_there_while_it_is_held_and_gone_afterwards(tmp_path: Path) -> None:
    with memory_directory(parent=tmp_path) as data:
        assert Path(data).is_dir()
        assert list(Path(data).iterdir()) == []

    assert list(tmp_path.iterdir()) == []


def test_next_start_removes_what_no_process_holds(tmp_path: Path) -> None:
    dead = left_behind(tmp_path, "dead")

    with memory_directory(parent=tmp_path) as data:
        assert not dead.exists()
        assert Path(data).exists()


def test_directory_of_a_living_process_stays(tmp_path: Path) -> None:
    with memory_directory(parent=tmp_path) as first, memory_directory(parent=tmp_path) as second:
        assert first != second
        assert Path(first).exists()


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    elsewhere = left_behind(tmp_path / "elsewhere", "real")
    (tmp_path / f"{PREFIX}link").symlink_to(elsewhere)
    (tmp_path / f"{PREFIX}file").touch()
    (tmp_path / f"{PREFIX}nolock").mkdir()
    (tmp_path / f"{PREFIX}linked").mkdir()
    (tmp_path / f"{PREFIX}linked" / LOCK).symlink_to(elsewhere / LOCK)
    (tmp_path / "klamm-test-data").mkdir()
    before = sorted(tmp_path.iterdir())

    sweep(tmp_path)

    assert sorted(tmp_path.iterdir()) == before
    assert (elsewhere / "data").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_what_belongs_to_another_user_stays(tmp_path: Path) -> None:
    foreign = left_behind(tmp_path, "foreign")
    os.chown(foreign, 12345, 12345)

    sweep(tmp_path)

    assert foreign.exists()


def test_directory_that_is_swept_before_it_is_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst moment: the lock file is there, and the other process locks it first."""
    locked = fcntl.flock
    swept = []

    def flock(file: int, how: int) -> None:
        if not swept:
            swept.append(file)
            monkeypatch.setattr(fcntl, "flock", locked)
            sweep(tmp_path)
        locked(file, how)

    monkeypatch.setattr(fcntl, "flock", flock)

    with memory_directory(parent=tmp_path) as data:
        (only,) = tmp_path.iterdir()
        assert Path(data).parent == only
        assert (only / LOCK).exists()


def test_many_starts_at_once_do_not_take_each_others_directories(tmp_path: Path) -> None:
    """In threads: a lock belongs to the open file, so that they are to each other what processes are."""

    def start_and_stop() -> None:
        for _ in range(100):
            with memory_directory(parent=tmp_path) as data:
                (Path(data) / "file").write_bytes(b"x")
                assert (Path(data) / "file").read_bytes() == b"x"

    with ThreadPoolExecutor(3) as pool:
        for started in [pool.submit(start_and_stop) for _ in range(3)]:
            started.result()

    assert list(tmp_path.iterdir()) == []


def test_killed_broker_leaves_nothing_for_longer_than_to_the_next_start() -> None:
    def serve() -> "subprocess.Popen[str]":
        command = [KLAMM, "serve", "--memory", "--port", "0", "--json"]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def data_of(process: "subprocess.Popen[str]") -> Path:
        assert process.stdout is not None
        return Path(json.loads(process.stdout.readline())["data"])

    with serve() as killed:
        left = data_of(killed)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
    with serve() as following:
        own = data_of(following)
        found = (left.exists(), left.parent.exists(), own.exists())
        following.terminate()
        following.communicate()

    assert found == (False, False, True)
    assert not own.parent.exists()
