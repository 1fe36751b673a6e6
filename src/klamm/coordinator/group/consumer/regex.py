"""Patterns that members subscribe to, in RE2's syntax.

RE2 matches in time linear in the text, whatever the pattern is, and within a bounded memory: no pattern can hold up the
broker. The engine is loaded when a group first uses a pattern, which few do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, cast

from klamm.base.errors import ApiError, ErrorCode

# Per pattern. The engine keeps the last 128 that it compiled.
_MOST_BYTES = 1 << 20


class _Matcher(Protocol):
    def fullmatch(self, text: str, /) -> object | None: ...


def check_regex(pattern: str) -> None:
    _compile(pattern)


def matching(pattern: str, names: Iterable[str]) -> frozenset[str]:
    """The names that the pattern matches from their first to their last character."""
    matcher = _compile(pattern)
    return frozenset(name for name in names if matcher.fullmatch(name) is not None)


def _compile(pattern: str) -> _Matcher:
    import re2  # type: ignore[import-untyped,unused-ignore]

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MOST_BYTES
    try:
        return cast(_Matcher, re2.compile(pattern, options))
    except re2.error as e:
        (reason,) = e.args
        raise ApiError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: "
            f"{reason.decode()}.",
        ) from e
