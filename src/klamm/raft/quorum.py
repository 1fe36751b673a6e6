"""Quorum arithmetic: what a majority is, and how far it holds the log."""

from __future__ import annotations

from collections.abc import Collection, Mapping


def majority(voters: int) -> int:
    """The smallest number of voters of which any two sets overlap."""
    return voters // 2 + 1


def is_majority(granted: Collection[int], voters: Collection[int]) -> bool:
    """Votes of nodes that are no voters do not count."""
    return len(set(granted) & set(voters)) >= majority(len(set(voters)))


def durable_end(ends: Mapping[int, int]) -> int:
    """The highest end offset that a majority has on disk; ends has one entry for every voter."""
    descending = sorted(ends.values(), reverse=True)
    return descending[majority(len(descending)) - 1]


def high_watermark(ends: Mapping[int, int], *, epoch_start: int, current: int) -> int:
    """Where committed records end, as the leader whose epoch began at epoch_start may claim.

    A leader commits only from its own epoch on: what an earlier leader left may still be replaced by another
    voter until a record of this epoch lies behind it on a majority. It never takes back what it once claimed.
    """
    end = durable_end(ends)
    return max(end, current) if end > epoch_start else current
