"""Brokers that ask who is there: users, certificates, and what clients need for them."""
