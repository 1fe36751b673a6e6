"""Java that starts quickly. The tests of Spark start it some forty times, for seconds each: most of that is its start."""

import importlib.util
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from support import cache as kept

_BUILD_SECONDS = 300
# A short life: what the second compiler and a collector of many threads would gain comes too late, and the classes of
# the jars that we chose need no second look.
_SHORT_LIFE = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
_ARCHIVE = "spark.jsa"


def start_java_quickly() -> None:
    """Every Java that this process or its children start from now on. Nothing where Spark cannot run: the tests say why."""
    if (version := _java_version()) is None:
        return
    # It holds the paths of the jars, so it belongs to this installation of them.
    name, place = f"spark-classes-{version}", Path(sys.prefix)
    if _is_first_worker():
        kept.directory(name, _archive_classes, under=place)
    archive = place / name / _ARCHIVE
    # Java goes on without an archive that does not fit; it need not say so.
    shared = f' "-XX:SharedArchiveFile={archive}" -Xlog:disable' if archive.exists() else ""
    os.environ["JDK_JAVA_OPTIONS"] = _SHORT_LIFE + shared


@cache
def _java_version() -> int | None:
    if importlib.util.find_spec("pyspark") is None:
        return None
    from klamm.pipeline.java import JavaMissing, find_java

    try:
        return find_java().version
    except JavaMissing:
        return None


def _is_first_worker() -> bool:
    """The others begin without the archive while it is made."""
    return os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0"


def _archive_classes(folder: Path) -> None:
    """Spark's classes as Java has them in memory, written when a Spark that has done a bit of everything ends."""
    program = Path(__file__).with_name("bit_of_everything.py")
    options = f"{_SHORT_LIFE} -Xlog:disable -XX:ArchiveClassesAtExit={folder / _ARCHIVE}"
    subprocess.run(
        [sys.executable, program, folder / "work"],
        env={**os.environ, "SPARK_SUBMIT_OPTS": options},
        check=True,
        capture_output=True,
        timeout=_BUILD_SECONDS,
    )
