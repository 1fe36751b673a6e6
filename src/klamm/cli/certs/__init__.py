"""`klamm certs`: a private authority for development."""
