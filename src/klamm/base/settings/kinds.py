"""The nine types a setting can have: how each is read from text and written back, as Java does it.

The numbers are those of the DescribeConfigs answer. Nothing here knows a setting by name.
"""

import math
import re
from enum import IntEnum

Value = bool | int | float | str | tuple[str, ...] | None

# What Java's String.trim removes: everything up to and including the space.
BLANKS = "".join(map(chr, range(33)))
_NUMBER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf}
_COMMA = re.compile(r"[ \t\n\x0b\f\r]*,[ \t\n\x0b\f\r]*")


class Kind(IntEnum):
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


_BITS = {Kind.SHORT: 15, Kind.INT: 31, Kind.LONG: 63}


def read(kind: Kind, text: str) -> Value:
    """The value that `text` stands for; a ValueError says, in Kafka's words, what it is not."""
    text = text.strip(BLANKS)
    match kind:
        case Kind.BOOLEAN:
            return _read_boolean(text)
        case Kind.SHORT | Kind.INT | Kind.LONG:
            return _read_integer(kind, text)
        case Kind.DOUBLE:
            return _read_double(text)
        case Kind.LIST:
            return tuple(_COMMA.split(text)) if text else ()
        # Deviation: Kafka refuses a class that it cannot load; here a Java class is only a name.
        case Kind.STRING | Kind.CLASS | Kind.PASSWORD:
            return text


def write(kind: Kind, value: Value) -> str | None:
    """The text that a client is shown for a value."""
    if value is None:
        return None
    if kind is Kind.PASSWORD:
        return "[hidden]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if kind is Kind.DOUBLE:
        assert isinstance(value, int | float)
        return java_double(float(value))
    return str(value)


def _read_boolean(text: str) -> bool:
    match text.lower():
        case "true":
            return True
        case "false":
            return False
    raise ValueError("Expected value to be either true or false")


def _read_integer(kind: Kind, text: str) -> int:
    limit = 1 << _BITS[kind]
    # The length check keeps a megabyte of digits from being turned into a number first.
    if len(text) <= 40 and _NUMBER.fullmatch(text) and -limit <= (number := int(text)) < limit:
        return number
    raise ValueError(f"Not a number of type {kind.name}")


def _read_double(text: str) -> float:
    if text in _SPECIAL:
        return _SPECIAL[text]
    if match := _DECIMAL.fullmatch(text):
        return float(match[1])
    raise ValueError("Not a number of type DOUBLE")


def java_double(value: float) -> str:
    """A double as Java prints it: `0.5`, `1.0E7`, `1.0E-5`, `NaN`, `Infinity`."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return _plain(value)
    mantissa, _, exponent = f"{_shortest(value)}".partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def _plain(value: float) -> str:
    text = repr(value)
    return text if "e" not in text else f"{value:.1f}"


def _shortest(value: float) -> str:
    """The fewest digits that still name this double, in scientific notation."""
    return next(text for digits in range(17) if float(text := f"{value:.{digits}e}") == value)
