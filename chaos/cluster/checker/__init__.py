"""What must never be found in a history: one function for each anomaly, and nothing that knows how the history came about."""
