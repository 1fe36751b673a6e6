"""Which topics a position belongs to: offsets mean nothing in a topic that was made again under the same name."""
