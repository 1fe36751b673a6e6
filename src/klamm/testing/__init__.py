"""Stand-ins for time, chance and disks, for tests of klamm and with klamm. Nothing in src imports it."""
