"""Transactions: who takes part, how far their end has come, and which producer may speak for a transactional id."""
