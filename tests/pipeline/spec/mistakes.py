"""A good file with one thing wrong in it."""

from dataclasses import dataclass

import pytest

from klamm.pipeline.spec import BadPipeline, parse

pytest.importorskip("yaml", reason="reading pipeline files needs the extra klamm[pipeline]")


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is written in place of what, and the problems that must be told."""

    name: str
    good: str
    old: str
    new: str
    problems: list[str]

    @property
    def text(self) -> str:
        assert self.good.count(self.old) == 1, f"{self.old!r} must stand in the file once"
        return self.good.replace(self.old, self.new)


def problems_of(text: str) -> list[str]:
    with pytest.raises(BadPipeline) as bad:
        parse(text, "pipeline.yaml")
    return [str(problem) for problem in bad.value.problems]
