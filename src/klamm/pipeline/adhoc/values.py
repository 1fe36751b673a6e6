"""Values of a result as JSON can hold them."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

# So many digits survive in a double; more are written as text.
_SAFE_DIGITS = 15


def plain(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return _number(value)
        case bytes():
            # Keys and values are mostly text; what is not can still be told apart.
            return value.decode("utf-8", "backslashreplace")
        case datetime():
            return _time(value)
        case date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
        case dict():
            return {str(name): plain(each) for name, each in value.items()}
        case list() if value and all(isinstance(each, tuple) for each in value):
            # A map comes as its pairs.
            return {str(plain(name)): plain(each) for name, each in value}
        case list():
            return [plain(each) for each in value]
    return str(value)


def _number(value: Decimal) -> int | float | str:
    if len(value.as_tuple().digits) > _SAFE_DIGITS:
        return str(value)
    whole = value.to_integral_value()
    return int(whole) if whole == value else float(value)


def _time(value: datetime) -> str:
    if value.tzinfo is None:
        return value.isoformat()
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
