"""How much a client may ask for: whose quota it is, how fast it goes, and how long it has to wait then."""
