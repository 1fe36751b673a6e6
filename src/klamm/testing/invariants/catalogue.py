"""The names under which invariants are known, and the functions that prove each.

R: the quorum of the metadata. P: partitions and their replicas. I: idempotence. T: transactions. G: groups. C: cleaning.
D: durability. M: metadata of topics. L: what happens at last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

CODES = {
    "R1": "an epoch of the quorum has one leader; who has voted does not vote otherwise",
    "R2": "where two metadata logs have a batch of the same offset and epoch, they are equal up to there",
    "R3": "what was committed stays in the log of every later leader; who has read as far knows the same",
    "R4": "a snapshot is what the log up to it says",
    "R5": "voters change one at a time",
    "P1": "a partition has one leader in an epoch, and epochs rise",
    "P2": "a high watermark never falls at a leader; all in sync have what is committed",
    "P3": "what was acknowledged with acks=all is at its offset in every later leader",
    "P4": "the ISR is what the controller says, and nobody who is fenced is in it",
    "P5": "with fewer than min.insync.replicas nothing is committed; only who was in sync is elected",
    "P6": "nobody cuts below its own high watermark; replicas are equal below it",
    "P7": "what was read stays as it was read; readers pass over nothing",
    "I1": "sequences of a producer rise without repetition or gap; no value is written twice",
    "T1": "a transaction is seen whole or not at all, its offsets with it",
    "T2": "no reader of committed records sees another; the last stable offset never falls, and rises at last",
    "T3": "an older run of a producer is fenced",
    "T4": "decisions stand, and a transaction is ended once",
    "G1": "a partition has one owner in a generation",
    "G2": "a committed offset stays, and an older generation commits nothing",
    "G3": "a rebalance ends, and every partition has an owner",
    "C1": "the last value of a key stays, and compaction moves nothing",
    "C2": "retention takes whole segments from the front; the start of a log never goes back",
    "D1": "what was synced survives; batches are whole",
    "D2": "after a failed sync nothing is led or acknowledged",
    "D3": "what a client was told is there",
    "M1": "nothing of a deleted topic is seen under its name again",
    "L1": "when faults end everything is led, in sync and can be written to, within bounds",
}
CATALOGUE: dict[str, list[Callable[..., Any]]] = {code: [] for code in CODES}
F = TypeVar("F", bound=Callable[..., Any])


def invariant(*codes: str) -> Callable[[F], F]:
    """The function proves these."""

    def noted(function: F) -> F:
        for code in codes:
            CATALOGUE[code].append(function)
        return function

    return noted


def told(function: Callable[..., Iterable[str]], *args: Any) -> list[str]:
    """What it finds wrong, with its name and what that is about."""
    return [f"{name_of(function)}: {text}" for text in function(*args)]


def name_of(function: Callable[..., Any]) -> str:
    codes = [code for code, functions in CATALOGUE.items() if function in functions]
    return " ".join([*codes, function.__name__])
