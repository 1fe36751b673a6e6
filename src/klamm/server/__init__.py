"""The shell: every socket, clock, task and thread of the broker lives here."""
