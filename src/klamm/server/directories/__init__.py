"""Data directories of a running broker: moves between them, and what the controller is told of them."""
