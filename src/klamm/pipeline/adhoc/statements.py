"""A text of SQL as statements: each ends with a semicolon that is not part of a text, a name or a comment. No Spark."""

from __future__ import annotations

import re
from dataclasses import dataclass

# What may hold a semicolon. One that is not closed reaches to the end, so its statement goes on.
_PIECE = re.compile(
    r"""
    (?P<comment> --[^\n]* | /\*.*?(?:\*/|\Z) )
    | [rR]'[^']*(?:'|\Z) | [rR]"[^"]*(?:"|\Z)
    | '(?:[^'\\]|\\.)*(?:'|\\?\Z) | "(?:[^"\\]|\\.)*(?:"|\\?\Z)
    | `[^`]*(?:`|\Z)
    | (?P<word> \w+ )
    | .
    """,
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Split:
    """Whole statements without their semicolons, and what comes after the last one."""

    statements: list[str]
    rest: str

    @property
    def all(self) -> list[str]:
        """At the end of a text the last statement needs no semicolon."""
        return self.statements if is_blank(self.rest) else [*self.statements, self.rest.strip()]


def split(text: str) -> Split:
    statements = []
    begin = 0
    words: list[str] = []
    for piece in _PIECE.finditer(text):
        if piece["word"]:
            words.append(piece[0].lower())
        # BEGIN ... END is one statement with others inside.
        elif piece[0] == ";" and (words[:1] != ["begin"] or words[-1] == "end"):
            statements.append(text[begin : piece.start()].strip())
            begin = piece.end()
            words = []
    return Split([each for each in statements if not is_blank(each)], text[begin:])


def is_blank(text: str) -> bool:
    """Nothing but space and comments."""
    return all(piece["comment"] or piece[0].isspace() for piece in _PIECE.finditer(text))
