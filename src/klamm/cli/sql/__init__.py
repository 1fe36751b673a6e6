"""Commands that need no pipeline file: SQL over topics, and a topic kept as a table."""
