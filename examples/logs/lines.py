"""Lines of several hosts, some in a form that nobody thought of, some beyond help; and the rows they make."""

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from examples.stage import Row

MORNING = datetime(2026, 11, 15, 7, tzinfo=UTC)
PROGRAMS = {
    "sshd": ("accepted a key of ann", "connection closed: timeout"),
    "kernel": ("cpu clock throttled", "link eth0: down", "link eth0: up"),
    "shop": ("order 17: paid", "order 18: card refused", "cache is warm"),
}
LEVELS = ("DEBUG", "INFO", "INFO", "INFO", "WARN", "ERROR")
FORM = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z) (DEBUG|INFO|WARN|ERROR) ([a-z]+): (.*)"
)


@dataclass(frozen=True, slots=True)
class Line:
    host: str
    text: str

    @property
    def has_milliseconds(self) -> bool:
        return "." in self.text.split(" ")[0]


def lines(seed: int = 1, *, hosts: int = 6, each: int = 60) -> list[Line]:
    """The last host is new and writes milliseconds."""
    chance = random.Random(seed)
    found = []
    for number in range(hosts):
        at = MORNING
        for _ in range(each):
            at += timedelta(milliseconds=chance.randrange(1, 30_000))
            program = chance.choice(sorted(PROGRAMS))
            level, message = chance.choice(LEVELS), chance.choice(PROGRAMS[program])
            unit = "milliseconds" if number == hosts - 1 else "seconds"
            time = at.replace(tzinfo=None).isoformat(timespec=unit)
            text = f"{time}Z {level} {program}: {message}"
            if chance.random() < 0.03:
                text = text[chance.randrange(5, 20) :]  # the beginning was overwritten
            found.append(Line(f"host-{number}", text))
    return found


def rows_of(lines: Iterable[Line], *, milliseconds: bool) -> list[Row]:
    """What the pipeline can make of them, as first written or as fixed."""
    rows = []
    for line in lines:
        match = FORM.fullmatch(line.text)
        if match and (milliseconds or not line.has_milliseconds):
            time, level, program, message = match.groups()
            at = datetime.fromisoformat(time)
            row = {"at": at, "host": line.host, "level": level}
            rows.append({**row, "program": program, "message": message})
    return rows
