"""Partitions: who holds them, who leads, who is in sync, and what changes that."""
