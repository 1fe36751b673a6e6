"""The three consumers with klamm.client."""
