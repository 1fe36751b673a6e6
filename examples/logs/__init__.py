"""Log aggregation: many hosts' logs in one table, and what cannot be parsed is kept and tried again."""
