"""Bytes to messages and back; knows nothing of sockets, files or what a message is for."""
