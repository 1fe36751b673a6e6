"""From a client's certificate to its principal: the subject's name as Java writes it, then ssl.principal.mapping.rules.

Patterns run on RE2, in time that grows only with the name: who may write a name into a certificate cannot stop the loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import re2  # type: ignore[import-untyped,unused-ignore]
from cryptography import x509

from klamm.base.principal import ANONYMOUS, KafkaPrincipal

_RULE = re.compile(
    r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:[,\n]|$)"
)
_GROUP = re.compile(r"\\(.)|\$(\d)|([^\\$]+|.)", re.DOTALL)
_ESCAPES = {each: f"\\{each}" for each in ',+"\\<>;='} | {"\0": "\\00"}
# RFC 2253 knows these names; any other attribute is written as its number and its bytes.
_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}


@dataclass(frozen=True, slots=True)
class _Rule:
    # None: the whole name.
    pattern: Any
    replacement: str
    case: str

    def apply(self, name: str) -> str | None:
        if self.pattern is None:
            return name
        match = self.pattern.fullmatch(name)
        if match is None:
            return None
        result = "".join(_expand(self.replacement, match))
        return (
            result.lower() if self.case == "L" else result.upper() if self.case == "U" else result
        )


class CertificateNames:
    """ValueError: the rules make no sense."""

    def __init__(self, rules: str = "DEFAULT") -> None:
        self._rules = tuple(_parse(rules))

    def principal_of(self, certificate: bytes | None) -> KafkaPrincipal:
        """Who shows none is ANONYMOUS. ValueError: no rule has a name for this one."""
        if certificate is None:
            return ANONYMOUS
        name = distinguished_name(x509.load_der_x509_certificate(certificate).subject)
        for rule in self._rules:
            mapped = rule.apply(name)
            if mapped is not None:
                return KafkaPrincipal("User", mapped)
        raise ValueError(f"no rule of ssl.principal.mapping.rules fits {name!r}")


def _parse(text: str) -> Iterator[_Rule]:
    text = text.strip() or "DEFAULT"
    at = 0
    while at < len(text):
        found = _RULE.match(text, at)
        if found is None:
            raise ValueError(f"ssl.principal.mapping.rules: {text[at:]!r} is not a rule")
        at = found.end()
        default, pattern, replacement, case = found.groups()
        if default:
            yield _Rule(None, "", "")
            continue
        try:
            options = re2.Options()
            options.log_errors = False
            yield _Rule(re2.compile(pattern, options), replacement, case)
        except re2.error as e:
            raise ValueError(f"ssl.principal.mapping.rules: {pattern!r}: {_words(e)}") from None


def _words(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode() if isinstance(said, bytes) else str(said)


def _expand(replacement: str, match: Any) -> Iterator[str]:
    groups = match.groups()
    for escaped, group, plain in _GROUP.findall(replacement):
        if group and 0 < int(group) <= len(groups):
            yield groups[int(group) - 1] or ""
        elif group == "0":
            yield match.group(0)
        else:
            yield escaped or plain or f"${group}"


def distinguished_name(name: x509.Name) -> str:
    """As RFC 2253 and Java's X500Principal write it: the last part first."""
    parts = ["+".join(_attribute(each) for each in rdn) for rdn in reversed(list(name.rdns))]
    return ",".join(parts)


def _attribute(attribute: x509.NameAttribute[Any]) -> str:
    number, value = attribute.oid.dotted_string, attribute.value
    keyword = _KEYWORDS.get(number)
    if keyword is None or not isinstance(value, str):
        return f"{number}=#{_der_value(attribute).hex()}"
    return f"{keyword}={_escaped(value)}"


def _escaped(value: str) -> str:
    inner = value.strip(" ")
    before = len(value) - len(value.lstrip(" "))
    after = len(value) - before - len(inner)
    text = "".join(_ESCAPES.get(each, each) for each in inner)
    if text.startswith("#") and not before:
        text = "\\" + text
    return "\\ " * before + text + "\\ " * after


def _der_value(attribute: x509.NameAttribute[Any]) -> bytes:
    """The value with its tag and length: the last thing in a name that has this attribute alone."""
    der = x509.Name([attribute]).public_bytes()
    # Sequence, set, sequence, and the number of the attribute in front of it.
    at = 0
    for _ in range(3):
        at = _content(der, at)[0]
    begin, size = _content(der, at)
    return der[begin + size :]


def _content(der: bytes, at: int) -> tuple[int, int]:
    """Where the content of the element begins that stands there, and how long it is."""
    size = der[at + 1]
    if size < 0x80:
        return at + 2, size
    count = size & 0x7F
    return at + 2 + count, int.from_bytes(der[at + 2 : at + 2 + count], "big")
