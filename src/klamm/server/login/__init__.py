"""Logins by SASL: what a listener offers, and how far a connection has got."""
