"""Which views a SELECT reads. Spark's grammar is large; this knows the few places where it has a view's name.

What may stand in such a place and be something else (a function, STREAM, a name with its catalog) is told apart, so that
whoever complains about a name can be sure of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""
    (?P<nothing> --[^\n]* | /\*.*?\*/ )
    | (?P<text> [rR]'[^']*' | [rR]"[^"]*" | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
    | `(?:[^`]|``)+` | \w+ | \|> | \S
    """,
    re.DOTALL | re.VERBOSE,
)
_NAME = re.compile(r"`.+`|\w+", re.DOTALL)
_TEXT = "''"
# Words of a query behind which FROM's list of views is over.
_AFTER_FROM = {
    *("where", "group", "having", "qualify", "order", "sort", "cluster", "distribute", "limit"),
    *("offset", "window", "union", "except", "intersect", "minus", "select", "|>"),
}
# Names of views follow these, and these may be names themselves.
_PERHAPS_BEFORE_A_VIEW = {"table", "stream"}


@dataclass(frozen=True, slots=True)
class Reads:
    """Names of one part, as they are written, in their order."""

    # Those that cannot be anything but a view.
    views: tuple[str, ...]
    # Those that may be one.
    perhaps: tuple[str, ...]
    # What the SELECT itself names with WITH; such a name may also be among the views.
    own: frozenset[str]

    def view(self, name: str) -> bool:
        """Whether the SELECT reads, or may read, the view of this name."""
        return any(name.lower() == each.lower() for each in (*self.views, *self.perhaps))

    def unknown(self, views: list[str]) -> list[str]:
        """What it reads and is neither one of these views nor its own."""
        known = {each.lower() for each in views} | self.own
        return [name for name in self.views if name.lower() not in known]


def reads_of(sql: str) -> Reads:
    tokens = list(_tokens(sql))
    found = list(_Reader(tokens).read())
    return Reads(
        views=tuple(dict.fromkeys(each.name for each in found if each.is_sure)),
        perhaps=tuple(dict.fromkeys(each.name for each in found if not each.is_sure)),
        own=frozenset(_own_names(tokens)),
    )


def _tokens(sql: str) -> Iterator[str]:
    """Words as they are, with their backticks; texts as one empty text; comments not at all."""
    for found in _TOKEN.finditer(sql):
        if found["text"]:
            yield _TEXT
        elif not found["nothing"]:
            yield found[0]


@dataclass(slots=True)
class _Level:
    """What is between two brackets."""

    # FROM in a function, as in extract(year FROM at), is another word.
    is_query: bool = False
    is_in_from: bool = False
    # Whether a view comes next, and whether it can be something else.
    expects: bool = False
    is_sure: bool = True
    # Brackets after commas are rows then.
    is_in_values: bool = False

    def expect(self, *, is_sure: bool = True) -> None:
        self.expects, self.is_sure = True, is_sure


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    is_sure: bool


@dataclass(slots=True)
class _Reader:
    tokens: list[str]
    at: int = 0
    levels: list[_Level] = field(default_factory=lambda: [_Level(is_query=True)])

    def read(self) -> Iterator[_Found]:
        while self.at < len(self.tokens):
            token = self.tokens[self.at].lower()
            level = self.levels[-1]
            if token == "(":
                self._open(level)
            elif token == ")":
                if len(self.levels) > 1:
                    self.levels.pop()
            elif not self._is_keyword(token, level) and level.expects:
                level.expects = False
                if _NAME.fullmatch(self.tokens[self.at]):
                    yield from self._name(level)
            self.at += 1

    def _open(self, above: _Level) -> None:
        level = _Level()
        if above.expects and not above.is_in_values:
            # Brackets around views; if a query is in them, it says so itself.
            level.is_in_from = True
            level.expect(is_sure=above.is_sure)
        above.expects = False
        self.levels.append(level)

    def _is_keyword(self, token: str, level: _Level) -> bool:
        """Changes the level as the word does."""
        match token:
            case "select":
                level.is_query = True
            case "from":
                # A query may begin with it.
                level.is_query = level.is_query or self._before() == "("
                if level.is_query and not self._is_distinct_from():
                    level.is_in_from, level.is_in_values = True, False
                    level.expect()
                return True
            case "join" if level.is_query or level.is_in_from:
                level.expect()
                return True
            case "," if level.is_in_from:
                level.expect()
                return True
            case "lateral":
                level.is_in_from = level.is_in_from and self._after() != "view"
                return True
            case "values" if level.expects:
                level.expects, level.is_in_values = False, True
                return True
        if token in _AFTER_FROM:
            level.is_in_from = level.expects = level.is_in_values = False
            return True
        if token in _PERHAPS_BEFORE_A_VIEW and not level.expects:
            level.expect(is_sure=False)
            return True
        return False

    def _name(self, level: _Level) -> Iterator[_Found]:
        name = self.tokens[self.at]
        if self._after() == "." or (self._after() == "(" and name.lower() != "stream"):
            # With its catalog or schema; or a function.
            while self._after() == ".":
                self.at += 2
            return
        if name.lower() == "stream" and _NAME.fullmatch(self._after()):
            # Either it is the view and its alias follows, or it is Spark's word and the view follows.
            yield _Found(name, is_sure=False)
            level.expect(is_sure=False)
        elif name.lower() == "stream" and self._after() == "(":
            level.expect(is_sure=False)
        else:
            yield _Found(_plain(name), level.is_sure)

    def _is_distinct_from(self) -> bool:
        """`a IS DISTINCT FROM b`."""
        before = self.tokens[max(0, self.at - 2) : self.at]
        return [each.lower() for each in before] in (["is", "distinct"], ["not", "distinct"])

    def _before(self) -> str:
        return self.tokens[self.at - 1] if self.at else ""

    def _after(self) -> str:
        return self.tokens[self.at + 1].lower() if self.at + 1 < len(self.tokens) else ""


def _own_names(tokens: list[str]) -> Iterator[str]:
    """Of `WITH name AS (...)` and `WITH name(a, b) AS (...)`; what else looks like that does no harm."""
    opened: list[int] = []
    words = [each.lower() for each in tokens]
    for at, token in enumerate(tokens):
        is_named = words[at + 1 : at + 3] == ["as", "("]
        is_bounded = words[at + 1 : at + 4] == ["max", "recursion", "level"]
        if token == "(":
            opened.append(at)
        elif token == ")":
            start = opened.pop() if opened else 0
            if is_named and start:
                yield _plain(tokens[start - 1]).lower()
        elif is_named or is_bounded:
            yield _plain(token).lower()


def _plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
