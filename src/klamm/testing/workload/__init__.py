"""What clients do in a simulation. Each tells the history what it tried and what it was told."""
