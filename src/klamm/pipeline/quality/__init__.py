"""What becomes of records that are not as they should be: dropped, kept as dead letters, or the end of the run."""
