"""Compaction: the last value of each key stays. Decides and copies; what a log is, the package around it knows."""
