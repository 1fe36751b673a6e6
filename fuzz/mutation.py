"""A small fuzzer of our own: seeded, so that a number brings every finding back. It knows nothing of coverage."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from time import monotonic

from fuzz.target import Target

Mutation = Callable[[bytearray, Random], None]

_TELLING = (
    b"\x00", b"\x01", b"\x7f", b"\x80", b"\xff", b"\x00\x00", b"\x7f\xff", b"\xff\xff",
    b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\xff\xff", b"\x80\x80\x04", b"\xff" * 8, b"\x7f" + b"\xff" * 7,
)  # fmt: skip


def _place(data: bytearray, rng: Random) -> int:
    return rng.randrange(len(data) + 1)


def _overwrite(data: bytearray, rng: Random) -> None:
    at, telling = _place(data, rng), rng.choice(_TELLING)
    data[at : at + len(telling)] = telling


def _flip(data: bytearray, rng: Random) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _insert(data: bytearray, rng: Random) -> None:
    at = _place(data, rng)
    data[at:at] = rng.choice(_TELLING) if rng.random() < 0.5 else rng.randbytes(rng.randint(1, 20))


def _remove(data: bytearray, rng: Random) -> None:
    at = _place(data, rng)
    del data[at : at + rng.randint(1, 16)]


def _repeat(data: bytearray, rng: Random) -> None:
    at = _place(data, rng)
    data[at:at] = data[at : at + rng.randint(1, 64)] * rng.randint(1, 8)


def _cut(data: bytearray, rng: Random) -> None:
    del data[_place(data, rng) :]


_MUTATIONS: tuple[Mutation, ...] = (
    _overwrite,
    _overwrite,
    _flip,
    _flip,
    _insert,
    _remove,
    _repeat,
    _cut,
)


@dataclass(frozen=True, slots=True)
class Found:
    """An input that must not do what it does."""

    data: bytes
    problem: Exception


def inputs(target: Target, seed: int) -> Iterator[bytes]:
    """Without end: first the seeds as they are, then mutations of them."""
    seeds = target.seeds()
    yield from seeds
    rng = Random(seed)
    while True:
        data = bytearray(rng.choice(seeds))
        for _ in range(rng.choice((1, 1, 2, 3, 8))):
            rng.choice(_MUTATIONS)(data, rng)
        yield bytes(data)


def fuzz(
    target: Target, *, seed: int, runs: int | None = None, seconds: float | None = None
) -> tuple[int, Found | None]:
    """How many inputs were tried, and the first that is a finding."""
    end = None if seconds is None else monotonic() + seconds
    tried = 0
    try:
        for data in inputs(target, seed):
            if tried == runs or (end is not None and monotonic() > end):
                break
            tried += 1
            try:
                target.check(data)
            except Exception as problem:  # noqa: BLE001 - whatever comes out of a target is a finding
                return tried, Found(data, problem)
    finally:
        target.close()
    return tried, None
