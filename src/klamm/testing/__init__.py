"""Stand-ins for time, chance, disks and networks, up to a whole simulated world. Nothing in src imports it."""
