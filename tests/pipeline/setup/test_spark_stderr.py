"""What Spark's processes print reaches the user only where it is of use."""

import subprocess
import threading

import pytest

from klamm.pipeline.spark_stderr import Strainer, strained_stderr

TRACEBACK = """\
Traceback (most recent call last):
  File "a.py", line 1, in f
    raise it
"""
CLOSED = f"Exception ignored in: <_io.BufferedRWPair object at 0x7f00>\n{TRACEBACK}BrokenPipeError: [Errno 32] Broken pipe\n"
FLUSH = f"PySpark daemon failed to flush the output to the worker process:\n{TRACEBACK}BrokenPipeError: x\n\n"
CHAINED = (
    f"PySpark worker failed with exception:\n{TRACEBACK}EOFError\n\n"
    f"During handling of the above exception, another exception occurred:\n\n{TRACEBACK}OSError: y\n"
)
OF_THE_USER = (
    f"Exception ignored in: <function Mine.__del__ at 0x7f00>\n{TRACEBACK}ValueError: mine\n"
)
STATE = (
    "Starting Streaming TransformWithStateInPandas Python worker.\n\n"
    "Streaming TransformWithStateInPandas Python worker Starting execution of UDF: <bound method f of <F at 0x7f00>>.\n\n"
)


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("WARNING: Using incubator modules: jdk.incubator.vector\nhello\n", "hello\n"),
        ("NOTE: Picked up JDK_JAVA_OPTIONS: -Xmx1g\n", ""),
        (f"before\n{CLOSED}after\n", "before\nafter\n"),
        (f"{FLUSH}{CHAINED}{CLOSED}it happens\n", "it happens\n"),
        (OF_THE_USER, OF_THE_USER),
        (f"{TRACEBACK}ValueError: mine\n", f"{TRACEBACK}ValueError: mine\n"),
        (f"{CLOSED}{TRACEBACK}ValueError: mine\n", f"{TRACEBACK}ValueError: mine\n"),
        (f"{STATE}\nof the processor\n{STATE}\n", "\nof the processor\n\n"),
        ("no end of a line", "no end of a line"),
    ],
)
def test_only_what_nobody_can_act_on_is_left_out(printed: str, shown: str) -> None:
    strainer = Strainer()

    kept = [each for line in printed.splitlines(keepends=True) for each in strainer.take(line)]

    assert "".join([*kept, *strainer.rest()]) == shown


def test_process_that_is_started_inside_is_strained_as_long_as_it_lives(
    capfd: pytest.CaptureFixture[str],
) -> None:
    script = "echo WARNING: Using incubator modules: x >&2; read line; echo $line >&2"
    before = set(threading.enumerate())
    with strained_stderr():
        process = subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE)

    process.communicate(b"later\n", timeout=60)
    # It ends with the last process that may print.
    for pump in set(threading.enumerate()) - before:
        pump.join(60)

    assert capfd.readouterr().err == "later\n"
