"""The nodes under test, and what can be done to them."""
