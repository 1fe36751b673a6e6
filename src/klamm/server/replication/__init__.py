"""The leader's side of replication, with the clock and the network: who waits for followers, and who is in sync."""
