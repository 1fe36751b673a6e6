"""Which partition of its topic a group or a transactional id belongs to."""

from __future__ import annotations

from functools import lru_cache


# Every commit and heartbeat asks, and a name may have 32,767 characters: so not too many are remembered.
@lru_cache(maxsize=1_024)
def partition_of(name: str, partition_count: int) -> int:
    """Kafka's rule: Java's hash of the text, without its sign."""
    return abs(_java_hash(name)) % partition_count


def _java_hash(text: str) -> int:
    """Java counts UTF-16 units, so a character outside the basic plane counts twice."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    value = value - (1 << 32) if value >= 1 << 31 else value
    # Java's abs has no answer for the smallest number and says 0.
    return 0 if value == -(1 << 31) else value
