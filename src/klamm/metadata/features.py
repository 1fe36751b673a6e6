"""The features that nodes agree on: which levels klamm can work with, and which a new cluster begins with."""

from __future__ import annotations

from klamm.metadata.image import VersionRange

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
ELR_VERSION = "eligible.leader.replicas.version"
TRANSACTION_VERSION = "transaction.version"
# Its level from which on every end of a transaction has an epoch of its own (KIP-890, KIP-1228).
BUMPS_EPOCHS = 2
# The level of metadata.version from which on the metadata log knows transactions (KIP-868).
HAS_TRANSACTIONS = 13

SUPPORTED: dict[str, VersionRange] = {
    "eligible.leader.replicas.version": VersionRange(0, 1),
    "group.version": VersionRange(0, 1),
    "kraft.version": VersionRange(0, 1),
    "metadata.version": VersionRange(7, 30),
    "share.version": VersionRange(0, 1),
    "streams.version": VersionRange(0, 1),
    "transaction.version": VersionRange(0, 2),
}

# What a new cluster is formatted with, in the order of Kafka's bootstrap records.
LATEST: dict[str, int] = {
    "metadata.version": 30,
    "eligible.leader.replicas.version": 1,
    "group.version": 1,
    "share.version": 1,
    "streams.version": 1,
    "transaction.version": 2,
}

# The name of each level of metadata.version; True where records changed, so that a downgrade may lose some.
METADATA_LEVELS: dict[int, tuple[str, bool]] = {
    7: ("3.3-IV3", True),
    8: ("3.4-IV0", True),
    9: ("3.5-IV0", False),
    10: ("3.5-IV1", False),
    11: ("3.5-IV2", True),
    12: ("3.6-IV0", False),
    13: ("3.6-IV1", True),
    14: ("3.6-IV2", True),
    15: ("3.7-IV0", True),
    16: ("3.7-IV1", True),
    17: ("3.7-IV2", True),
    18: ("3.7-IV3", False),
    19: ("3.7-IV4", False),
    20: ("3.8-IV0", False),
    21: ("3.9-IV0", False),
    22: ("4.0-IV0", False),
    23: ("4.0-IV1", True),
    24: ("4.0-IV2", False),
    25: ("4.0-IV3", False),
    26: ("4.1-IV0", False),
    27: ("4.1-IV1", False),
    28: ("4.2-IV0", False),
    29: ("4.2-IV1", False),
    30: ("4.3-IV0", True),
}


def release_of(level: int) -> str:
    """The name by which Kafka's tools call a level of metadata.version."""
    known = METADATA_LEVELS.get(level)
    return known[0] if known else str(level)
