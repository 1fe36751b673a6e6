"""What a question was answered with."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Answer:
    """`names` are the true ones: a name may be there twice. A command may have no columns at all."""

    names: list[str]
    rows: list[tuple[object, ...]]
    has_more: bool = False

    def cut(self, limit: int | None) -> Answer:
        if limit is None or len(self.rows) <= limit:
            return self
        return replace(self, rows=self.rows[:limit], has_more=True)
