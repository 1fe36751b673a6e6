"""The producing half of the client: partitioners, batches and sequences are pure; the sender does the I/O."""
