"""What is done to runs, and how: sinks that raise, tasks that fail, runs that are stopped, batches that are repeated."""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Protocol
from unittest import mock

# In one process: of a sink, of a task, of the run, of the checkpoint. KILL and BROKER need processes of their own.
FORGET, KILL, BROKER = "forget", "kill", "broker"
_WARM = ("before", "after", "middle", "told", "stop", FORGET, FORGET)


class Injected(Exception):
    """Raised on purpose."""


@dataclass(frozen=True, slots=True)
class Fault:
    """`at` counts writes of batches into sinks, or chooses a query."""

    kind: str
    at: int

    @property
    def is_a_kill(self) -> bool:
        return self.kind in (KILL, BROKER)

    def __str__(self) -> str:
        return f"{self.kind}@{self.at}"


def draw_faults(chance: Random, *, with_kills: bool) -> tuple[Fault, ...]:
    """For one run."""
    found = [Fault(chance.choice(_WARM), _at(chance)) for _ in range(chance.choice((0, 1, 1)))]
    if with_kills:
        found.insert(0, Fault(chance.choice((KILL, KILL, BROKER)), _at(chance)))
    return tuple(found)


def _at(chance: Random) -> int:
    """Most runs have few batches."""
    return chance.choice((0, 0, 0, 1, 1, 2, 3))


class _Sink(Protocol):
    def open(self, query_id: str) -> None: ...
    def write(self, batch: Any, batch_id: int) -> bool: ...
    def close(self) -> None: ...


@dataclass(slots=True)
class _Tripping:
    """A sink that does its work until its time has come."""

    inner: _Sink
    trip: Callable[[str], None]

    def open(self, query_id: str) -> None:
        self.inner.open(query_id)

    def write(self, batch: Any, batch_id: int) -> bool:
        self.trip("before")
        is_new = self.inner.write(batch, batch_id)
        self.trip("after")
        return is_new

    def close(self) -> None:
        self.inner.close()


@contextmanager
def injected(fault: Fault | None, stop: threading.Event) -> Iterator[None]:
    """Sinks and tasks of pipelines that start meanwhile have the fault."""
    from klamm.pipeline.running import queries
    from klamm.pipeline.sinks import topic

    if fault is None:
        yield
    elif fault.kind in ("middle", "told"):
        from fuzz.pipelines.flaky import FlakyWriter

        flaky = partial(FlakyWriter, fails=fault.kind)
        with mock.patch.object(topic, "PartWriter", flaky):
            yield
    else:
        trip = _trip(fault, stop)

        def wrapping(make: Callable[..., _Sink]) -> Callable[..., _Sink]:
            return lambda *given: _Tripping(make(*given), trip)

        with (
            mock.patch.object(queries, "make_sink", wrapping(queries.make_sink)),
            mock.patch.object(
                queries, "make_dead_letter_sink", wrapping(queries.make_dead_letter_sink)
            ),
        ):
            yield


def _trip(fault: Fault, stop: threading.Event) -> Callable[[str], None]:
    # Queries write in threads of their own; a count is one step of the interpreter.
    counts = {"before": itertools.count(), "after": itertools.count()}

    def trip(moment: str) -> None:
        if next(counts[moment]) != fault.at:
            return
        if fault.kind == "stop" and moment == "after":
            stop.set()
        elif fault.kind == moment:
            raise Injected(f"{fault}")

    return trip


def forget(checkpoint: Path, at: int) -> Path | None:
    """As if the driver had died between the sinks and the checkpoint of a query's last batch."""
    queries = sorted(checkpoint.glob("*/commits"))
    if not queries:
        return None
    commits = queries[at % len(queries)]
    done = [file for file in commits.iterdir() if file.name.isdigit()]
    if not done:
        return None
    last = max(done, key=lambda file: int(file.name))
    planned = commits.with_name("offsets")
    if any(int(f.name) > int(last.name) for f in planned.iterdir() if f.name.isdigit()):
        # A batch that was planned and not finished will be repeated anyway.
        return None
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink(missing_ok=True)
    return last
