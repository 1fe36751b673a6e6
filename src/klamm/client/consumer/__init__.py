"""The consuming half of the client: assignments and batches are read by pure code; fetcher and membership do the I/O."""
