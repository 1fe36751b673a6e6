"""`klamm token`: delegation tokens."""
