"""A bounded slice of `make fuzz`, the same inputs in every run.

KLAMM_FUZZ_RUNS asks for more of them than a usual run, KLAMM_SEED for others.
"""

import os

import fuzz.target
import pytest
from fuzz.target import Finding, Target
from fuzz.targets import TARGETS

from fuzz import mutation
from klamm.server.handlers import list_offsets

RUNS = int(os.environ.get("KLAMM_FUZZ_RUNS", "1500"))
SEED = int(os.environ.get("KLAMM_SEED", "1"))


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_is_found(name: str) -> None:
    _, found = mutation.fuzz(TARGETS[name], seed=SEED, runs=RUNS)

    if found is not None:
        found.problem.add_note(f"{name}: {found.data.hex()}")
        raise found.problem


def test_a_bug_is_found_and_found_again() -> None:
    def stumble(data: bytes) -> None:
        if b"\xff\xff" in data:
            raise ZeroDivisionError

    target = Target("buggy", stumble, lambda: [bytes(20)])

    tried, found = mutation.fuzz(target, seed=3, runs=10_000)

    assert found is not None
    assert mutation.fuzz(target, seed=3, runs=10_000)[0] == tried


def test_an_input_that_takes_too_long_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz.target, "LONGEST_SECONDS", 0.01)

    def work(data: bytes) -> None:
        assert sum(range(3_000_000))

    _, found = mutation.fuzz(Target("slow", work, lambda: [b""]), seed=1, runs=1)

    assert found is not None
    assert "took" in str(found.problem)


def test_a_handler_that_stumbles_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(list_offsets, "_answer", stumble)

    _, found = mutation.fuzz(TARGETS["broker"], seed=1, runs=1000)

    assert found is not None
    assert isinstance(found.problem, Finding)
    assert isinstance(found.problem.__cause__, ZeroDivisionError)
