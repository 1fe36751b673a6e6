"""Sockets: listeners, their connections, and the memory that frames arrive in. Knows frames, not what they say."""
