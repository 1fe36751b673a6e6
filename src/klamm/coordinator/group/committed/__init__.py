"""What groups have committed: deciding on a commit, keeping it, reading it, and forgetting it in time."""
