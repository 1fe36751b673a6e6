"""The way to other nodes: connections, channels that keep one open, and what is spoken over them."""
