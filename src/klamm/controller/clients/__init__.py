"""What the cluster knows of its clients: passwords, tokens, quotas, and what they may do."""
