"""This broker's data directories and the logs in them."""
