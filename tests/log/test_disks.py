"""The real disk and the one in memory keep the same port; and what the latter forgets in a crash."""

from pathlib import Path
from random import Random

import pytest

from klamm.log.disk import Disk, RealDisk
from klamm.testing.disk import MemoryDisk


@pytest.fixture(params=["real", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Disk, str]:
    disk = RealDisk() if request.param == "real" else MemoryDisk()
    directory = str(tmp_path / "logs")
    disk.mkdir(directory)
    return disk, directory


def test_bytes_are_read_where_they_were_written(place: tuple[Disk, str]):
    disk, directory = place
    file = disk.open(f"{directory}/f", create=True)

    file.pwrite(b"hello", 0)
    file.pwrite(memoryview(bytearray(b"world")), 7)

    assert file.pread(20, 0) == b"hello\0\0world"
    assert file.pread(3, 8) == b"orl"
    assert file.pread(3, 50) == b""
    assert (file.size(), disk.file_size(f"{directory}/f")) == (12, 12)
    file.truncate(2)
    assert disk.read(f"{directory}/f") == b"he"
    file.fsync()
    file.close()


def test_names_come_go_and_change(place: tuple[Disk, str]):
    disk, directory = place
    disk.write(f"{directory}/a", b"1")
    disk.write(f"{directory}/a", b"22")
    disk.write_atomic(f"{directory}/b", b"3")
    disk.mkdir(f"{directory}/sub/deep")
    disk.write(f"{directory}/sub/deep/c", b"4")

    disk.rename(f"{directory}/a", f"{directory}/z")
    disk.remove(f"{directory}/b")
    disk.rename(f"{directory}/sub", f"{directory}/gone")
    disk.fsync_dir(directory)

    assert sorted(disk.listdir(directory)) == ["gone", "z"]
    assert disk.read(f"{directory}/z") == b"22"
    assert disk.read(f"{directory}/gone/deep/c") == b"4"
    disk.rmtree(f"{directory}/gone")
    assert [disk.exists(f"{directory}/{name}") for name in ("z", "gone", "a")] == [
        True,
        False,
        False,
    ]


def test_absent_things_raise_file_not_found(place: tuple[Disk, str]):
    disk, directory = place
    for act in (disk.open, disk.read, disk.remove, disk.file_size, disk.listdir):
        with pytest.raises(FileNotFoundError):
            act(f"{directory}/absent")
    with pytest.raises(FileNotFoundError):
        disk.open(f"{directory}/absent/f", create=True)


def test_large_files_are_read_whole(place: tuple[Disk, str]):
    disk, directory = place
    content = bytes(range(256)) * 1024

    disk.write(f"{directory}/f", content)

    assert disk.read(f"{directory}/f") == content


def outcomes(prepare) -> set[bytes | None]:
    """What may be left of /d/f after a crash, over many seeds; None if the name is gone."""
    found = set()
    for seed in range(200):
        disk = MemoryDisk()
        disk.mkdir("/d")
        prepare(disk)
        disk.crash(Random(seed))
        found.add(disk.read("/d/f") if disk.exists("/d/f") else None)
    return found


def synced(disk: MemoryDisk, content: bytes):
    file = disk.open("/d/f", create=True)
    file.pwrite(content, 0)
    file.fsync()
    disk.fsync_dir("/d")
    return file


def test_synced_bytes_and_names_survive():
    assert outcomes(lambda disk: synced(disk, b"safe")) == {b"safe"}


def test_unsynced_bytes_survive_in_part():
    def prepare(disk: MemoryDisk) -> None:
        file = synced(disk, b"ab")
        file.pwrite(b"cd", 2)
        file.pwrite(b"ef", 4)

    left = outcomes(prepare)

    assert {b"ab", b"abcd", b"abc", b"abcdef", b"abcde", b"ab\0\0ef"} <= left
    assert all(content is not None and content.startswith(b"ab") for content in left)


def test_an_unsynced_name_may_be_gone_though_its_bytes_were_synced():
    def prepare(disk: MemoryDisk) -> None:
        file = disk.open("/d/f", create=True)
        file.pwrite(b"x", 0)
        file.fsync()

    assert outcomes(prepare) == {None, b"x"}


def test_an_unsynced_rename_may_not_have_happened():
    def prepare(disk: MemoryDisk) -> None:
        synced(disk, b"old")
        disk.rename("/d/f", "/d/g")

    assert outcomes(prepare) == {None, b"old"}


def test_an_atomic_write_is_old_or_new():
    def prepare(disk: MemoryDisk) -> None:
        synced(disk, b"old")
        disk.write_atomic("/d/f", b"new")

    assert outcomes(prepare) == {b"new"}


def test_a_file_opened_before_the_crash_belongs_to_the_past():
    disk = MemoryDisk()
    disk.mkdir("/d")
    file = synced(disk, b"safe")
    disk.crash(Random(0))

    file.pwrite(b"late", 0)

    assert disk.read("/d/f") == b"safe"
