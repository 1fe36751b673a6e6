"""Fetches: what they may read, those that wait for more, and how they are answered."""
