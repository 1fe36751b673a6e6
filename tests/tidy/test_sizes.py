"""Numbers that keep the code readable: docs/architecture.md says why."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 70
MAX_FILES_IN_FOLDER = 14

# Tables and declarations are long by nature and read row by row.
TABLES = {"src/klamm/base/errors.py"}
CATALOGUES = {
    "src/klamm/protocol/messages",
    "src/klamm/metadata/records",
    "src/klamm/server/handlers",
    "src/klamm/base/settings",
    "tests/server/handlers",
}


def python_files() -> list[Path]:
    return sorted(
        [
            path
            for top in ("src", "tests", "bench", "examples")
            for path in ROOT.glob(f"{top}/**/*.py")
        ]
    )


def is_table(path: Path) -> bool:
    name = str(path.relative_to(ROOT))
    return name in TABLES or str(path.parent.relative_to(ROOT)) in CATALOGUES


@pytest.mark.parametrize("path", python_files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_file_and_its_functions_stay_small(path: Path) -> None:
    text = path.read_text()
    if not is_table(path):
        assert text.count("\n") <= MAX_FILE_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= MAX_FUNCTION_LINES, (
                f"{path}:{node.lineno}: {node.name} has {lines} lines"
            )


def folders() -> Iterator[Path]:
    for top in ("src/klamm", "tests"):
        yield ROOT / top
        yield from (p for p in (ROOT / top).rglob("*") if p.is_dir() and p.name != "__pycache__")


def test_folders_hold_few_files() -> None:
    for folder in folders():
        count = len(list(folder.glob("*.py")))
        if str(folder.relative_to(ROOT)) not in CATALOGUES:
            assert count <= MAX_FILES_IN_FOLDER, f"{folder} holds {count} files"
