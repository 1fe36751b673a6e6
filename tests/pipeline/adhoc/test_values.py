"""Values of a result as JSON can hold them."""

import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from klamm.pipeline.adhoc.values import plain


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (1.5, 1.5),
        (float("nan"), "nan"),
        (Decimal("12.50"), 12.5),
        (Decimal("12.00"), 12),
        (Decimal("0.1234567890123456789"), "0.1234567890123456789"),
        (b"ann", "ann"),
        (b"\xff", "\\xff"),
        (datetime(2026, 11, 15, 10, tzinfo=UTC), "2026-11-15T10:00:00Z"),
        (datetime(2026, 11, 15, 10, tzinfo=timezone(timedelta(hours=1))), "2026-11-15T09:00:00Z"),
        (datetime(2026, 11, 15, 10), "2026-11-15T10:00:00"),
        (date(2026, 11, 15), "2026-11-15"),
        (timedelta(minutes=5), "0:05:00"),
        ({"a": b"x", "b": [Decimal(1)]}, {"a": "x", "b": [1]}),
        ([("key", Decimal(2))], {"key": 2}),
        ([], []),
    ],
)
def test_value_becomes_what_json_can_hold(value: Any, expected: Any) -> None:
    assert plain(value) == expected
    json.dumps(plain(value), allow_nan=False)
