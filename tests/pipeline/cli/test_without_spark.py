"""Spark stays away from those who do not run a pipeline, and who has none is told what to install."""

import json
import subprocess
import sys
from pathlib import Path

from pipeline.cli import files

LIGHT = [
    ["--help"],
    ["serve", "--help"],
    ["pipeline", "--help"],
    ["pipeline", "validate", "pipe.yaml"],
    ["pipeline", "plan", "pipe.yaml"],
    ["pipeline", "list"],
]
HEAVY = [
    ["pipeline", "run", "pipe.yaml"],
    ["pipeline", "plan", "pipe.yaml", "--schemas"],
    ["pipeline", "replay", "pipe.yaml", "--from", "earliest", "--run"],
]
# None in sys.modules is how Python itself marks a module that cannot be imported.
PROGRAM = """
import contextlib, io, json, sys
commands, is_hidden = json.loads(sys.argv[1])
if is_hidden:
    sys.modules["pyspark"] = None
from klamm.cli.app import main
answers = []
for command in commands:
    said = io.StringIO()
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())), contextlib.redirect_stderr(said):
        code = main(command)
    heavy = [name for name in ("pyspark", "pandas", "pyarrow", "prometheus_client") if sys.modules.get(name)]
    answers.append([code, heavy, said.getvalue()])
print(json.dumps(answers))
"""


def answers(commands: list[list[str]], *, without_spark: bool) -> list[tuple[int, list[str], str]]:
    """Of a fresh process: the exit code of each command, what it has loaded of Spark, and its complaints."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([commands, without_spark])],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return [(code, heavy, said) for code, heavy, said in json.loads(done.stdout)]


def test_commands_that_need_no_spark_import_none(home: Path) -> None:
    files.write(home, files.JOIN)

    assert answers(LIGHT, without_spark=False) == [(0, [], "")] * len(LIGHT)


def test_commands_that_need_spark_say_what_to_install(home: Path) -> None:
    files.write(home, files.JOIN)

    for code, _, said in answers(HEAVY, without_spark=True):
        assert code == 1
        assert "PySpark is not installed" in said
        assert "pip install 'klamm[pipeline]'" in said
