"""Access rules: which of them speak of an action, and what they decide."""
