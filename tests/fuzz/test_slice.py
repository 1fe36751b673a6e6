"""A bounded slice of `make fuzz`, the same inputs in every run. KLAMM_FUZZ_RUNS asks for more of them, KLAMM_SEED for others."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from fuzz.target import Finding, Target
from fuzz.targets import TARGETS

from fuzz import mutation
from klamm.server.handlers import list_offsets

RUNS = int(os.environ.get("KLAMM_FUZZ_RUNS", "2000"))
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


def test_an_input_that_takes_too_long_is_a_finding() -> None:
    target = Target("slow", lambda data: sum(range(30_000_000)), lambda: [b""])

    _, found = mutation.fuzz(target, seed=1, runs=1)

    assert found is not None
    assert "took" in str(found.problem)


def test_a_handler_that_stumbles_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(list_offsets, "_answer", stumble)

    _, found = mutation.fuzz(TARGETS["broker"], seed=1, runs=1000)

    assert found is not None
    assert isinstance(found.problem, Finding)
    assert isinstance(found.problem.__cause__, ZeroDivisionError)
