"""The jars that Spark needs beside PySpark: locked by hash, fetched once, verified each time, never resolved at run time.

The cache has the layout of a Maven repository, so a copy of it serves as a mirror.
"""

from __future__ import annotations

import fcntl
import hashlib
import http.client
import os
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, TypeAlias

MAVEN_CENTRAL = "https://repo.maven.apache.org/maven2"
MIRROR_VARIABLE = "KLAMM_MAVEN_MIRROR"
ATTEMPTS = 4
TIMEOUT_SECONDS = 30.0
_CHUNK_BYTES = 1 << 18
_PARTIAL_CONTENT = 206
_RANGE_NOT_SATISFIABLE = 416


class Use(StrEnum):
    """What a jar is there for: a session loads only those of what its pipeline does."""

    TOPICS = "topics"
    AVRO = "avro"
    ICEBERG = "iceberg"
    DELTA = "delta"
    POSTGRESQL = "postgresql"


@dataclass(frozen=True, slots=True)
class Jar:
    use: Use
    group: str
    name: str
    version: str
    size: int
    sha256: str

    @property
    def coordinate(self) -> str:
        return f"{self.group}:{self.name}:{self.version}"

    @property
    def path(self) -> str:
        """Where it lies in any Maven repository."""
        folder = self.group.replace(".", "/")
        return f"{folder}/{self.name}/{self.version}/{self.name}-{self.version}.jar"


# Not the connector 4.1.1: a query that repeats a batch after a crash dies in its metrics (SPARK-57438).
# It needs the token provider's classes even when no token is used. No other 4.1 of that was published than the preview,
# whose interface is the same. The clients and the pool are the versions that the connector was built with.
# fmt: off
LOCK: tuple[Jar, ...] = (
    Jar(Use.TOPICS, "org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.1.3", 491701, "cb31ffd9c8f5527dba061db8af671d295562092e4f3f5ff42fc249fab8a8fde6"),
    Jar(Use.TOPICS, "org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.1.0-preview1", 66117, "ab6e27a8a47ce63348dd0ecbd5543dc6212b4783180305cde5749e79684ea97b"),
    Jar(Use.TOPICS, "org.apache.kafka", "kafka-clients", "3.9.1", 9215194, "7568b998572d256f0b7bc0afdc1b7a2588b8b08415c62ce314c864a6851ae9d9"),
    Jar(Use.TOPICS, "org.apache.commons", "commons-pool2", "2.12.1", 152289, "5273c8bc8c0dca2211175c0d27efbd7228efae99689aac001a8e1ef8e872e9ef"),
    Jar(Use.AVRO, "org.apache.spark", "spark-avro_2.13", "4.1.1", 92354, "6a19d90bc3b6e88d8db0fa36a19273aa10fea2dbd7a62bb60e4cedd73051b32d"),
    Jar(Use.ICEBERG, "org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", "1.12.0", 48309426, "3123c3798af642dd537230923548e013ef41cc28b6626e5225808cf5670a0f82"),
    Jar(Use.DELTA, "io.delta", "delta-spark_4.1_2.13", "4.1.0", 8349284, "9b05d7a82196ee1f1073733a45a2faae59161e52b86ae918fe6742fad6eaf036"),
    Jar(Use.DELTA, "io.delta", "delta-storage", "4.1.0", 72650, "6d0520ffcc35b582369f92c23fa24e14a5bb935cf6e31ed7f47c5046ae17cb25"),
    Jar(Use.POSTGRESQL, "org.postgresql", "postgresql", "42.7.14", 1221004, "73914527305a40cce504b0d3d90b23caf565136912d607ae8ae7c5895512332c"),
)
# fmt: on


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a fetch of several jars is: bytes that are here, of all that are wanted."""

    jar: Jar
    done_bytes: int
    total_bytes: int


Watcher: TypeAlias = Callable[[Progress], None]


class JarError(Exception):
    """A jar cannot be had, or is not what the lock says. The text is for the user."""


class _Interrupted(Exception):
    """The transfer broke off; what arrived is kept and the next attempt goes on from there."""


def jars_for(uses: Collection[Use]) -> tuple[Jar, ...]:
    return tuple(jar for jar in LOCK if jar.use in uses)


def cache_directory(env: Mapping[str, str] = os.environ) -> Path:
    home = env.get("XDG_CACHE_HOME") or os.path.join(env.get("HOME") or "~", ".cache")
    return Path(home).expanduser() / "klamm" / "jars"


def mirror_address(env: Mapping[str, str] = os.environ) -> str:
    return (env.get(MIRROR_VARIABLE) or MAVEN_CENTRAL).rstrip("/")


def missing(jars: Sequence[Jar], *, cache: Path) -> tuple[Jar, ...]:
    """Those that are not in the cache, or not as the lock says."""
    return tuple(jar for jar in jars if not _is_good(cache / jar.path, jar))


def ensure(
    jars: Sequence[Jar],
    *,
    cache: Path | None = None,
    mirror: str | None = None,
    watch: Watcher | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> list[Path]:
    """The verified files, fetched if they are not there yet: without a network, when they are.

    A fetch that broke off goes on where it stopped, in this run or in a later one.
    """
    cache = cache or cache_directory()
    if absent := missing(jars, cache=cache):
        with _only_one_fetches(cache):
            _fetch_all(
                missing(absent, cache=cache),
                cache=cache,
                mirror=(mirror or mirror_address()).rstrip("/"),
                watch=watch,
                wait=wait,
            )
    return [cache / jar.path for jar in jars]


@contextmanager
def _only_one_fetches(cache: Path) -> Iterator[None]:
    try:
        cache.mkdir(parents=True, exist_ok=True)
        lock = open(cache / ".lock", "w")  # noqa: SIM115 - closed below
    except OSError as error:
        raise JarError(f"the jar cache {cache} cannot be written: {error.strerror}") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch_all(
    jars: Sequence[Jar],
    *,
    cache: Path,
    mirror: str,
    watch: Watcher | None,
    wait: Callable[[float], None],
) -> None:
    total = sum(jar.size for jar in jars)
    before = 0
    for jar in jars:

        def arrived(count: int, jar: Jar = jar, before: int = before) -> None:
            if watch is not None:
                watch(Progress(jar, before + count, total))

        _fetch(jar, cache / jar.path, url=f"{mirror}/{jar.path}", arrived=arrived, wait=wait)
        before += jar.size


def _fetch(
    jar: Jar,
    target: Path,
    *,
    url: str,
    arrived: Callable[[int], None],
    wait: Callable[[float], None],
) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    had_bytes = part.exists()
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _download(jar, part, url=url, arrived=arrived)
        except _Interrupted as error:
            if attempt == ATTEMPTS:
                raise JarError(
                    f"{jar.coordinate} could not be fetched: {error}; {_hint()}"
                ) from error
            wait(0.5 * attempt)
            continue
        if _is_good(part, jar):
            os.replace(part, target)
            return
        part.unlink()
        # Old bytes of another origin under the new ones: once more from the start.
        if not had_bytes:
            break
        had_bytes = False
    raise JarError(f"{url} is not the file that the lock names (sha256 differs); {_hint()}")


def _download(jar: Jar, part: Path, *, url: str, arrived: Callable[[int], None]) -> None:
    """Adds to `part` what it lacks. Bytes that are there count, whoever brought them: the hash decides at the end."""
    have = part.stat().st_size if part.exists() else 0
    if have >= jar.size:
        return
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            goes_on = response.status == _PARTIAL_CONTENT
            with open(part, "ab" if goes_on else "wb") as file:
                _copy(jar, response, file, have=have if goes_on else 0, arrived=arrived)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == _RANGE_NOT_SATISFIABLE:
            part.unlink(missing_ok=True)
            raise _Interrupted("the server has less of it than was fetched before") from error
        if error.code >= 500 or error.code == 429:
            raise _Interrupted(f"{url} answered {error.code}") from error
        raise JarError(f"{url} answered {error.code} {error.reason}; {_hint()}") from error
    except urllib.error.URLError as error:
        raise _Interrupted(f"{url} cannot be reached ({error.reason})") from error
    except (http.client.HTTPException, ssl.SSLError, ConnectionError, TimeoutError) as error:
        raise _Interrupted(f"{url} broke off ({error})") from error
    except OSError as error:
        raise JarError(f"{part} cannot be written: {error.strerror}") from error


def _copy(
    jar: Jar, source: BinaryIO, file: BinaryIO, *, have: int, arrived: Callable[[int], None]
) -> None:
    while chunk := source.read(_CHUNK_BYTES):
        file.write(chunk)
        have += len(chunk)
        if have > jar.size:
            return  # Not the file: the hash will say so, and nobody has to wait for the rest.
        arrived(have)
    if have < jar.size:
        raise _Interrupted(f"only {have} of {jar.size} bytes arrived")


def _is_good(path: Path, jar: Jar) -> bool:
    try:
        if path.stat().st_size != jar.size:
            return False
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == jar.sha256
    except (FileNotFoundError, NotADirectoryError):
        return False


def _hint() -> str:
    return f"set {MIRROR_VARIABLE} to a Maven repository that this machine reaches"
