"""`klamm pipeline validate`: every problem with its place, without Spark and without a cluster."""

from pathlib import Path

from cli.commands import Klamm
from pipeline.cli import files

WRONG = """\
name: stats
source: {topic: clicks, format: jsn, schema: "user string"}
sinks:
  - {topic: out, delivry: exactly_once}
"""


def test_validate_names_every_problem_with_place_key_and_nearest_spelling(
    pipeline: Klamm, home: Path
) -> None:
    file = files.write(home, WRONG)

    answer = pipeline("validate", file, "-o", "table")

    assert answer.code == 2
    first, second = answer.text.splitlines()
    assert first == (
        f"{file}:2:33: source.format: expected json, avro, csv, text or bytes, "
        'found "jsn" (did you mean json?)'
    )
    assert second.startswith(f"{file}:4:18: sinks[0].delivry: expected one of the keys topic, ")
    assert second.endswith('found the key "delivry" (did you mean delivery?)')


def test_validate_gives_problems_as_json(pipeline: Klamm, home: Path) -> None:
    good, bad = (
        files.write(home, files.JOIN, "good.yaml"),
        files.write(home, WRONG, "bad.yaml"),
    )

    answer = pipeline("validate", good, bad)

    assert answer.code == 2
    assert answer.rows[0] == {"file": good, "valid": True, "problems": []}
    assert answer.rows[1]["problems"][0] == {
        "line": 2,
        "column": 33,
        "key": "source.format",
        "expected": "json, avro, csv, text or bytes",
        "found": '"jsn"',
        "nearest": "json",
    }


def test_validate_goes_on_after_a_file_that_cannot_be_read(pipeline: Klamm, home: Path) -> None:
    good = files.write(home, files.JOIN)

    answer = pipeline("validate", "nowhere.yaml", good, "-o", "table")

    assert answer.code == 2
    assert answer.text.splitlines() == [
        "nowhere.yaml: expected a file that can be read, found No such file or directory",
        f"{good}: ok",
    ]
