"""Topics as tables, at once: a schema from a sample of the records, and SQL over topics and tables."""
