"""The moments of a scenario at which a crash may come, and the crashes that are tried at each.

A scenario runs once, on one disk. Before each write, sync and change of a name the disk is copied, together with what
had been promised by then; later each copy loses power in several ways and must keep the promise.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from threading import Lock
from typing import Generic, TypeVar

from klamm.testing.disk import Loss, MemoryDisk

LOSSES = (Loss.NOTHING, Loss.ALL, Loss.TORN, Loss.REORDERED)

Promise = TypeVar("Promise")


class PowerOff(Exception):
    """Raised inside a machine to stop it where it is."""


@dataclass(frozen=True, slots=True)
class Moment(Generic[Promise]):
    """A copy of the disk before one step, and what must be true if the power fails there."""

    step: int
    disk: MemoryDisk
    promise: Promise


@dataclass(frozen=True, slots=True)
class Crash(Generic[Promise]):
    """One way in which one moment ends. `disk` is as the next start finds it."""

    step: int
    loss: Loss
    disk: MemoryDisk
    promise: Promise
    rng: Random

    def __str__(self) -> str:
        return f"step {self.step}, {self.loss.value} lost"


@dataclass(slots=True)
class Recorder(Generic[Promise]):
    """Copies the disk before a share of all steps, chosen by chance but the same for the same seed."""

    disk: MemoryDisk
    promise: Callable[[], Promise]
    seed: int
    share: float = 1.0
    steps: int = 0
    moments: list[Moment[Promise]] = field(default_factory=list)
    _rng: Random = field(init=False)
    # A node syncs in threads: while one of them is here, the others take no step.
    _lock: Lock = field(init=False, default_factory=Lock)

    def __post_init__(self) -> None:
        self._rng = Random(self.seed)
        self.disk.before_step = self.note

    def note(self) -> None:
        with self._lock:
            self.steps += 1
            if self._rng.random() < self.share:
                # First the promise: what is promised only now need not be on the copy.
                promise = self.promise()
                self.moments.append(Moment(self.steps, self.disk.fork(), promise))

    def crashes(self) -> Iterator[Crash[Promise]]:
        """Every kind of loss at every moment that was noted; those of one moment differ only by it."""
        for moment in self.moments:
            for loss in LOSSES:
                rng = Random(f"{self.seed} {moment.step} {loss.value}")
                disk = moment.disk.fork()
                disk.crash(rng, loss)
                yield Crash(moment.step, loss, disk, moment.promise, rng)


def try_all(recorder: Recorder[Promise], check: Callable[[Crash[Promise]], None]) -> int:
    """Every crash; what broke a promise is told in a note on the error. Returns how many there were."""
    count = 0
    for crash in recorder.crashes():
        try:
            check(crash)
        except Exception as e:
            e.add_note(f"seed {recorder.seed}, {crash}")
            raise
        count += 1
    return count


def stop_after(disk: MemoryDisk, steps: int) -> None:
    """The power fails again, this many steps from now: whoever works on the disk gets PowerOff."""
    left = steps

    def count() -> None:
        nonlocal left
        if left == 0:
            raise PowerOff
        left -= 1

    disk.before_step = count
