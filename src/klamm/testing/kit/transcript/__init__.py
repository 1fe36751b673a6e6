"""What clients and the broker said to each other."""
