"""Answers of SQL as they are printed: rows under the columns' true names, or one JSON object per row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from klamm.cli.output import Format, Json, draw_columns, format_or_default, show

if TYPE_CHECKING:
    from klamm.pipeline.adhoc.answer import Answer


def show_answer(answer: Answer, output: Format | None) -> None:
    from klamm.pipeline.adhoc.values import plain

    rows: list[list[Json]] = [[plain(value) for value in row] for row in answer.rows]
    if format_or_default(output) is Format.JSON:
        names = unique(answer.names)
        show((dict(zip(names, row, strict=True)) for row in rows), Format.JSON)
    elif answer.names:
        draw_columns(answer.names, rows, cell=_cell)


def unique(names: Sequence[str]) -> list[str]:
    """A join may give a name twice; an object has each only once."""
    taken = set(names)
    result: list[str] = []
    for name in names:
        found, number = name, 1
        while found in result or (number > 1 and found in taken):
            number += 1
            found = f"{name}_{number}"
        result.append(found)
    return result


def _cell(value: Json) -> str:
    """As SQL writes it: NULL is not an empty text, and a struct is one value."""
    match value:
        case None:
            return "NULL"
        case str():
            return value
    return json.dumps(value, ensure_ascii=False)
