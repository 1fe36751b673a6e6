"""Requests to three services, one of which has a bad quarter of an hour; and their percentiles in plain Python."""

import math
import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from examples.stage import Record, Row, as_json

SERVICES = {"checkout": 80, "search": 30, "images": 12}
SLOW = ("search", range(20, 35), 12)
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
LATENESS = timedelta(seconds=30)
LIMIT_MS = 250


@dataclass(frozen=True, slots=True)
class Request:
    service: str
    host: str
    ms: int
    at: datetime

    def as_record(self) -> Record:
        fields = {"service": self.service, "host": self.host, "ms": self.ms, "at": self.at}
        return as_json(self.host, **fields)


def requests(seed: int = 1, *, minutes: int = 60, per_minute: int = 40) -> list[Request]:
    chance = random.Random(seed)
    found = []
    for minute in range(minutes):
        for service, usual_ms in SERVICES.items():
            slow_service, slow_minutes, factor = SLOW
            is_slow = service == slow_service and minute in slow_minutes
            for _ in range(per_minute):
                ms = int(
                    chance.lognormvariate(math.log(usual_ms), 0.4) * (factor if is_slow else 1)
                )
                # A clock that jumps back makes a time that cannot be.
                ms = -1 if chance.random() < 0.01 else ms
                at = NOON + minute * MINUTE + timedelta(milliseconds=chance.randrange(60_000))
                found.append(Request(service, f"host-{chance.randrange(4)}", ms, at))
    return found


def percentiles_of(requests: Iterable[Request]) -> list[Row]:
    """Of the minutes that are over, from the requests whose time can be."""
    good = [request for request in requests if 0 <= request.ms <= 60_000]
    watermark = max(request.at for request in good) - LATENESS
    groups: dict[tuple[datetime, str], list[int]] = defaultdict(list)
    for request in good:
        groups[request.at.replace(second=0, microsecond=0), request.service].append(request.ms)
    return [
        {
            "minute": minute,
            "service": service,
            "requests": len(times),
            "p50": percentile(times, 50),
            "p95": percentile(times, 95),
            "p99": percentile(times, 99),
        }
        for (minute, service), times in groups.items()
        if minute + MINUTE <= watermark
    ]


def percentile(times: list[int], percent: int) -> int:
    """The smallest value that is not below that share of all."""
    return sorted(times)[-(-len(times) * percent // 100) - 1]


def alerts_of(percentiles: Iterable[Row]) -> list[Row]:
    return [
        {
            "service": row["service"],
            "minute": row["minute"],
            "p95": row["p95"],
            "reason": f"p95 is above {LIMIT_MS} ms",
        }
        for row in percentiles
        if row["p95"] > LIMIT_MS
    ]
