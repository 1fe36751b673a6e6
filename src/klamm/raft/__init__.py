"""KRaft consensus without I/O: events in, a Ready out."""
