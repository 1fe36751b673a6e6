"""A table is rebuilt beside the one that readers see, and takes its place when it is whole."""
