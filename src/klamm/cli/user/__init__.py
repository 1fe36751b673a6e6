"""`klamm user`: who can log in by SCRAM."""
