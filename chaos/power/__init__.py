"""Power failures on a simulated disk: a scenario runs once, and at each of its steps a copy of the disk crashes."""
