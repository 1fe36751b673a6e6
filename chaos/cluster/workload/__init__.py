"""Clients of two kinds that write, read, share and copy, and write down all that they did."""
