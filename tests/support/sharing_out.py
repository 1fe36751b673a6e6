"""How the workers of `--dist loadfile` share the tests: what is told or warmed up for several files is so once, and what
takes long begins early.
"""

from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

TESTS = Path(__file__).parents[1]

# Files that go to one worker, and why.
_TOGETHER = {
    "tests/twoway/test_files.py": "the stories of tests/twoway/conftest.py",
    "tests/twoway/test_taking_turns.py": "the stories of tests/twoway/conftest.py",
    "tests/twoway/test_what_kafka_brings.py": "the stories of tests/twoway/conftest.py",
    "tests/pipeline/reading/test_fixed_tables.py": "a Spark that knows Delta",
    "tests/pipeline/sinks/test_tables.py": "a Spark that knows Delta",
}
# Whoever gets a long one last keeps all the others waiting.
_LONG = [
    TESTS / name
    for name in (
        "twoway",
        "compat/test_streams.py",
        "cluster/test_chaos.py",
        "compat/test_franz_go.py",
        "oracle/test_answers.py",
        "compat/tools",
        "client",
        "pipeline/proof/test_kills.py",
        "pipeline/cli/test_run.py",
    )
]


class Together(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return _TOGETHER.get(file, file)


def long_ones_first(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        return next(
            (n for n, path in enumerate(_LONG) if item.path.is_relative_to(path)), len(_LONG)
        )

    items.sort(key=place)
