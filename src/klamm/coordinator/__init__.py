"""Groups and transactions; so far only what they leave in their logs. May not know the log or the network."""
