"""TLS of the real world: key and trust stores, contexts of OpenSSL, and connections that speak it."""
