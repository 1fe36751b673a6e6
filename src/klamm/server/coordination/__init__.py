"""The shell around the coordinators: their topics, loading, timers, and the clients that wait for an answer."""
