"""JAAS: Kafka's notation of logins, `Module required key="value" ...;`, as sasl.jaas.config has it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s=;"']+)|(?P<sign>[=;]))""", re.DOTALL
)
_FLAGS = ("required", "requisite", "sufficient", "optional")


@dataclass(frozen=True, slots=True)
class JaasEntry:
    """The class of the module, without its package, and its options. Their values are secrets: nobody prints them."""

    module: str
    options: Mapping[str, str] = field(repr=False)


def parse_jaas(text: str) -> JaasEntry:
    """A ValueError says what is wrong, and none of the text."""
    tokens = list(_tokens(text))
    if len(tokens) < 3 or tokens[-1] != ";":
        raise ValueError('a login is written as `Module required key="value";`')
    module, flag, *rest = tokens[:-1]
    if flag.lower() not in _FLAGS:
        raise ValueError("the module of a login is followed by `required`")
    if len(rest) % 3 or any(sign != "=" for sign in rest[1::3]):
        raise ValueError('the options of a login are written as `key="value"`, and end with `;`')
    return JaasEntry(module.rpartition(".")[2], dict(zip(rest[::3], rest[2::3], strict=True)))


def _tokens(text: str) -> list[str]:
    tokens, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError("a quote in the login does not end")
        at = match.end()
        token = match["text"] or match["sign"]
        if token[0] in "\"'":
            token = re.sub(r"\\(.)", r"\1", token[1:-1], flags=re.DOTALL)
        tokens.append(token)
    return tokens
