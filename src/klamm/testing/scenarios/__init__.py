"""What is played in a simulated world: from a seed to what was broken, if anything was."""
