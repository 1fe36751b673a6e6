"""Programs to learn from. Each folder has a README."""
