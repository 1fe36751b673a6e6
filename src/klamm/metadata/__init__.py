"""What the cluster knows: records, the immutable image they add up to, snapshots. The read side."""
