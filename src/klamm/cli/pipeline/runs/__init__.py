"""What runs on this machine: seen, measured and stopped."""
