"""Bugs to be planted, to see that the simulation finds them. `make sim-mutants` tries all of them from scratch."""

from klamm.testing.mutants import coordination, logs, quorum, replication
from klamm.testing.mutants.mutant import MUTANTS, Mutant, planted

__all__ = ["MUTANTS", "Mutant", "coordination", "logs", "planted", "quorum", "replication"]
