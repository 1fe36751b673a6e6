"""Requests that need rights: one table for the test of klamm alone and for the one beside Kafka."""
