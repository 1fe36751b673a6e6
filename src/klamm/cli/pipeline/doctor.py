"""`klamm pipeline doctor`: can this machine run pipelines? Each finding says what to try. Imports nothing of Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated

import typer

from klamm.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, Output, Properties
from klamm.cli.doctor import Finding, Status, check_broker
from klamm.cli.output import CommandError, flush, show, write
from klamm.cli.pipeline.targets import INSTALL
from klamm.cli.pipeline.units import size
from klamm.pipeline.jars import (
    LOCK,
    MAVEN_CENTRAL,
    MIRROR_VARIABLE,
    cache_directory,
    mirror_address,
    missing,
)
from klamm.pipeline.java import JavaMissing, find_java

_FETCH = "klamm pipeline fetch"
_EXTRA = "pipeline"
GIB = 1 << 30
# Spark's driver takes 1 GiB unless it is told otherwise, Python and its workers as much again.
GOOD_MEMORY_BYTES = 2 * GIB


def doctor(
    jars_dir: Annotated[
        bool, typer.Option("--jars-dir", help="Print only where the verified jars are.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Check what pipelines need on this machine.

    Exit code 1 if something will not work.
    """
    if jars_dir:
        write(f"{verified_jars_directory()}\n".encode())
        flush()
        return
    found = findings(bootstrap, properties or ())
    show((finding._asdict() for finding in found), output)
    if any(finding.status is Status.FAIL for finding in found):
        raise typer.Exit(1)


def findings(bootstrap: str, properties: Sequence[str]) -> list[Finding]:
    return [
        check_java(),
        *check_packages(),
        *check_jars(),
        check_mirror(),
        check_memory(),
        _broker(bootstrap, properties),
    ]


def verified_jars_directory() -> Path:
    """Where all the jars are, each as the lock says."""
    absent = missing(LOCK, cache=cache_directory())
    if absent:
        raise CommandError(
            f"{len(absent)} of {len(LOCK)} jars are not here or not as they should be",
            why=", ".join(jar.coordinate for jar in absent),
            hint=_FETCH,
        )
    return cache_directory()


def check_java() -> Finding:
    try:
        java = find_java()
    except JavaMissing as error:
        found, _, hint = str(error).partition(". ")
        return Finding(Status.FAIL, "java", found, hint)
    return Finding(Status.OK, "java", f"Java {java.version} in {java.home} ({java.found_by})")


def check_packages() -> Iterator[Finding]:
    """What the extra asks for, with the version that is here. Whether it fits is the installer's to say, save PySpark:
    the jars are those of one version of it."""
    for requirement in requires("klamm") or ():
        name, _, condition = requirement.partition(";")
        if f'extra == "{_EXTRA}"' not in condition.replace("'", '"'):
            continue
        yield _package(name.strip())


def _package(requirement: str) -> Finding:
    name, exact = _name_and_version(requirement)
    try:
        found = version(name)
    except PackageNotFoundError:
        return Finding(Status.FAIL, name, f"not installed ({requirement})", INSTALL)
    if exact is not None and found != exact:
        return Finding(Status.FAIL, name, f"{found}, and the jars are for {exact}", INSTALL)
    return Finding(Status.OK, name, found)


def _name_and_version(requirement: str) -> tuple[str, str | None]:
    """`pyspark==4.1.1` names a version, `pandas<3,>=2.2` does not."""
    end = next((i for i, char in enumerate(requirement) if char in "<>=!~ "), len(requirement))
    name, rest = requirement[:end], requirement[end:]
    is_exact = rest.startswith("==") and "," not in rest
    return name, rest.removeprefix("==").strip() if is_exact else None


def check_jars() -> Iterator[Finding]:
    absent = set(missing(LOCK, cache=cache_directory()))
    for jar in LOCK:
        check = f"jar for {jar.use}"
        if jar in absent:
            what = f"{jar.coordinate} ({size(jar.size)}) is missing or not as it should be"
            # Not a failure: a run brings what it needs.
            yield Finding(Status.WARN, check, what, _FETCH)
        else:
            yield Finding(Status.OK, check, f"{jar.coordinate} ({size(jar.size)}) verified")


def check_mirror() -> Finding:
    address = mirror_address()
    how = "the default" if address == MAVEN_CENTRAL else f"from {MIRROR_VARIABLE}"
    return Finding(Status.OK, "mirror", f"{address} ({how})")


def check_memory(meminfo: Path = Path("/proc/meminfo")) -> Finding:
    try:
        lines = meminfo.read_text().splitlines()
    except OSError:
        return Finding(Status.OK, "memory", "unknown on this system")
    kilobytes = {
        name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)
    }
    available = kilobytes.get("MemAvailable", 0) * 1024
    found = f"{size(available)} of {size(kilobytes.get('MemTotal', 0) * 1024)} available"
    if available < GOOD_MEMORY_BYTES:
        hint = "options: {spark.driver.memory: 512m} in the pipeline file, or end something else"
        return Finding(Status.WARN, "memory", found, hint)
    return Finding(Status.OK, "memory", found)


def _broker(bootstrap: str, properties: Sequence[str]) -> Finding:
    finding = check_broker(bootstrap, properties)
    # For a broker that is to be started a free port is good news; for a pipeline it is not.
    if finding.hint is not None and finding.status is Status.OK:
        return finding._replace(status=Status.WARN)
    return finding
