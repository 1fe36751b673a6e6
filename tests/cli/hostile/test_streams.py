"""The same with real processes: a terminal, a full disk, a closed stdout, a reader that has left."""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

KLAMM = str(Path(sys.executable).with_name("klamm"))
LINES = (
    ("cluster", "info"),
    ("topic", "list", "--help"),
    ("--help",),
    ("produce", "hostile-streams", "-a", "1"),
)


def klamm(words: Sequence[str], broker: str, stdout: int) -> "subprocess.CompletedProcess[bytes]":
    environment = {**os.environ, "KLAMM_BOOTSTRAP": broker}
    return subprocess.run(
        [KLAMM, *words],
        input=b"a\n",
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment,
        check=False,
    )


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_full_disk_is_told_in_one_sentence(words: Sequence[str], broker: str) -> None:
    with open("/dev/full", "wb") as full:
        done = klamm(words, broker, full.fileno())

    assert done.returncode == 1
    assert re.fullmatch(rb"klamm: (.*: )?No space left on device\n", done.stderr)


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_closed_stdout_is_nobody_who_reads(words: Sequence[str], broker: str) -> None:
    command = f'exec "$0" {" ".join(words)} >&- <&-'

    done = subprocess.run(
        ["bash", "-c", command, KLAMM],
        stderr=subprocess.PIPE,
        env={**os.environ, "KLAMM_BOOTSTRAP": broker},
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, b"")


def test_closed_stderr_says_nothing_anywhere(broker: str) -> None:
    done = subprocess.run(
        ["bash", "-c", 'exec "$0" topic create x -p -3 2>&-', KLAMM],
        stdout=subprocess.PIPE,
        env={**os.environ, "KLAMM_BOOTSTRAP": broker},
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize(
    "words", [("topic", "list"), ("cluster", "info"), ("topic", "describe", "")]
)
def test_terminal_gets_tables_and_sentences(words: Sequence[str], broker: str) -> None:
    ours, theirs = pty.openpty()
    try:
        done = klamm(words, broker, theirs)
        os.close(theirs)
        shown = _all_of(ours)
    finally:
        os.close(ours)

    assert b"Traceback" not in shown + done.stderr
    assert done.returncode == (2 if "" in words else 0)
    assert not shown.startswith(b"{")


def test_word_that_is_not_text_is_wrong_usage(broker: str) -> None:
    done = klamm(["topic", "list", os.fsdecode(b"caf\xe9")], broker, subprocess.DEVNULL)

    assert done.returncode == 2
    assert done.stderr.startswith(b"klamm: word 3 of the command line is not text in UTF-8")


@pytest.mark.parametrize("output", ["json", "table"])
def test_path_that_is_not_text_is_shown_all_the_same(
    broker: str, output: str, tmp_path: Path
) -> None:
    """File names are bytes: those of an old encoding still stand in somebody's home."""
    home = os.fsencode(tmp_path) + b"/caf\xe9"
    environment = {**os.environb, b"KLAMM_BOOTSTRAP": broker.encode(), b"XDG_DATA_HOME": home}

    done = subprocess.run(
        [KLAMM, "doctor", "-o", output], capture_output=True, env=environment, check=False
    )

    assert b"Traceback" not in done.stderr
    assert b"/caf\\udce9/klamm will be created" in done.stdout


def test_letters_that_stdout_does_not_have_are_written_with_others(tmp_path: Path) -> None:
    command = [KLAMM, "serve", "--port", "0", "--data", str(tmp_path / "café")]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
        process.communicate()

    assert rb"/caf\xe9)" in line
    assert process.returncode == 0


def _all_of(terminal: int) -> bytes:
    shown = b""
    while True:
        try:
            some = os.read(terminal, 65_536)
        except OSError:
            # Linux says so when nobody writes to it any more.
            return shown
        shown += some
