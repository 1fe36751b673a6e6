"""Archive and replay: a topic is kept as a table, and a period of it comes back as a topic."""
