"""SASL: logins as machines that take a token and give one back. The shell carries the tokens."""
