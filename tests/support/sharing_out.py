"""How the workers of `--dist loadfile` share the tests of other programs: stories are told once, and long ones early."""

from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

TESTS = Path(__file__).parents[1]

# Files whose tests look at what one story left, by the fixture that tells it.
_SHARED = {
    f"tests/twoway/test_{name}.py": "the stories of tests/twoway/conftest.py"
    for name in ("files", "taking_turns", "what_kafka_brings")
}
# Whoever gets a long one last keeps all the others waiting.
_LONG = [
    TESTS / name
    for name in (
        "twoway",
        "compat/test_streams.py",
        "compat/test_franz_go.py",
        "oracle/test_answers.py",
        "compat/tools",
        "client",
    )
]


class ByStory(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return _SHARED.get(file, file)


def long_ones_first(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        return next(
            (n for n, path in enumerate(_LONG) if item.path.is_relative_to(path)), len(_LONG)
        )

    items.sort(key=place)
