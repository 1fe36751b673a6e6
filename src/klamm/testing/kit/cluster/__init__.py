"""Several brokers inside a test."""
