"""Quotas of clients: what is charged for an answer, and who is muted for how long."""
