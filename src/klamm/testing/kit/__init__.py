"""The test kit: a real broker inside a test, and what tests do to it. `klamm.testing` has its public names."""
