"""Groups and transactions as replayed state machines. May not know the log, the network or the clock."""
