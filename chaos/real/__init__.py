"""Real processes on a real disk: a broker that is killed under load, and one whose disk fails."""
