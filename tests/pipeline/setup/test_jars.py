"""Jars: what the lock says is in the cache afterwards, or one sentence says why not."""

import hashlib
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from klamm.pipeline.jars import (
    ATTEMPTS,
    LOCK,
    MAVEN_CENTRAL,
    Jar,
    JarError,
    Progress,
    Use,
    cache_directory,
    ensure,
    jars_for,
    mirror_address,
    missing,
)
from pipeline.setup.repository import Repository, serving

CONTENT = bytes(range(256)) * 4_000


def a_jar(name: str = "thing", content: bytes = CONTENT) -> Jar:
    digest = hashlib.sha256(content).hexdigest()
    return Jar(Use.TOPICS, "org.example", name, "1.0", len(content), digest)


@pytest.fixture
def repository() -> Iterator[Repository]:
    with serving() as repository:
        repository.files[a_jar().path] = CONTENT
        yield repository


def fetch(repository: Repository, cache: Path, *jars: Jar) -> list[Path]:
    return ensure(jars, cache=cache, mirror=repository.address, wait=lambda seconds: None)


def test_jar_lies_where_a_maven_repository_has_it(repository: Repository, tmp_path: Path) -> None:
    [path] = fetch(repository, tmp_path, a_jar())

    assert path == tmp_path / "org/example/thing/1.0/thing-1.0.jar"
    assert path.read_bytes() == CONTENT
    assert [file.name for file in path.parent.iterdir()] == ["thing-1.0.jar"]


def test_jar_that_is_there_needs_no_network(tmp_path: Path) -> None:
    path = tmp_path / a_jar().path
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)

    assert ensure([a_jar()], cache=tmp_path, mirror="http://nobody.invalid") == [path]


def test_damaged_jar_is_fetched_again(repository: Repository, tmp_path: Path) -> None:
    [path] = fetch(repository, tmp_path, a_jar())
    path.write_bytes(CONTENT[:-1] + b"!")
    assert missing([a_jar()], cache=tmp_path) == (a_jar(),)

    fetch(repository, tmp_path, a_jar())

    assert path.read_bytes() == CONTENT


def test_fetch_that_broke_off_goes_on_where_it_stopped(
    repository: Repository, tmp_path: Path
) -> None:
    repository.cut_after = [300_000, 400_000]

    [path] = fetch(repository, tmp_path, a_jar())

    assert path.read_bytes() == CONTENT
    assert [first for _, first in repository.asked] == [0, 300_000, 700_000]


def test_later_run_goes_on_where_an_earlier_one_gave_up(
    repository: Repository, tmp_path: Path
) -> None:
    repository.cut_after = [1_000] * ATTEMPTS
    with pytest.raises(JarError, match=r"org\.example:thing:1\.0 could not be fetched: "):
        fetch(repository, tmp_path, a_jar())
    assert not (tmp_path / a_jar().path).exists()

    [path] = fetch(repository, tmp_path, a_jar())

    assert path.read_bytes() == CONTENT
    assert repository.asked[-1] == (a_jar().path, 1_000 * ATTEMPTS)


def test_repository_without_ranges_is_read_from_the_start(
    repository: Repository, tmp_path: Path
) -> None:
    repository.understands_ranges = False
    repository.cut_after = [300_000]

    [path] = fetch(repository, tmp_path, a_jar())

    assert path.read_bytes() == CONTENT


def test_stale_bytes_of_an_earlier_fetch_are_thrown_away(
    repository: Repository, tmp_path: Path
) -> None:
    path = tmp_path / a_jar().path
    path.parent.mkdir(parents=True)
    path.with_name(f"{path.name}.part").write_bytes(b"not the beginning of it")

    fetch(repository, tmp_path, a_jar())

    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    "other", [CONTENT[:-1] + b"!", CONTENT + b"more"], ids=["same size", "longer"]
)
def test_file_that_is_not_the_locked_one_is_refused(
    repository: Repository, tmp_path: Path, other: bytes
) -> None:
    repository.files[a_jar().path] = other

    with pytest.raises(
        JarError, match=r"is not the file that the lock names .* KLAMM_MAVEN_MIRROR"
    ):
        fetch(repository, tmp_path, a_jar())

    assert [file for file in tmp_path.rglob("*.jar*") if file.is_file()] == []


def test_absent_jar_is_told_at_once(repository: Repository, tmp_path: Path) -> None:
    url = f"{repository.address}/{a_jar('other').path}"

    with pytest.raises(
        JarError, match=f"^{re.escape(url)} answered 404 Not Found; set KLAMM_MAVEN"
    ):
        fetch(repository, tmp_path, a_jar("other"))

    assert len(repository.asked) == 1


def test_busy_repository_is_asked_again(repository: Repository, tmp_path: Path) -> None:
    repository.statuses = [503, 429]

    [path] = fetch(repository, tmp_path, a_jar())

    assert path.read_bytes() == CONTENT


def test_unreachable_repository_is_named(tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}"

        with pytest.raises(JarError, match=f"{re.escape(address)}/.* cannot be reached .*refused"):
            ensure([a_jar()], cache=tmp_path, mirror=address, wait=lambda seconds: None)


def test_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(JarError, match=r"the jar cache .*/file/jars cannot be written: Not a dir"):
        ensure([a_jar()], cache=tmp_path / "file" / "jars", mirror="http://nobody.invalid")


def test_progress_grows_to_the_size_of_all_that_is_missing(
    repository: Repository, tmp_path: Path
) -> None:
    repository.files[a_jar("other").path] = CONTENT
    seen: list[Progress] = []

    ensure([a_jar(), a_jar("other")], cache=tmp_path, mirror=repository.address, watch=seen.append)

    done = [progress.done_bytes for progress in seen]
    assert done == sorted(done)
    assert seen[-1] == Progress(a_jar("other"), 2 * len(CONTENT), 2 * len(CONTENT))


def test_cache_serves_as_a_mirror(repository: Repository, tmp_path: Path) -> None:
    fetch(repository, tmp_path / "one", a_jar())

    [path] = ensure([a_jar()], cache=tmp_path / "two", mirror=(tmp_path / "one").as_uri())

    assert path.read_bytes() == CONTENT


def test_mirror_and_cache_come_from_the_environment() -> None:
    assert mirror_address({}) == MAVEN_CENTRAL
    assert mirror_address({"KLAMM_MAVEN_MIRROR": "http://here/maven/"}) == "http://here/maven"
    assert cache_directory({"HOME": "/home/ann"}) == Path("/home/ann/.cache/klamm/jars")
    assert cache_directory({"XDG_CACHE_HOME": "/cache"}) == Path("/cache/klamm/jars")


def test_lock_names_each_jar_once_with_a_whole_hash() -> None:
    assert len({jar.path for jar in LOCK}) == len(LOCK)
    assert all(re.fullmatch("[0-9a-f]{64}", jar.sha256) and jar.size > 0 for jar in LOCK)
    assert {jar.use for jar in LOCK} == set(Use)
    assert {jar.use for jar in jars_for({Use.DELTA})} == {Use.DELTA}
