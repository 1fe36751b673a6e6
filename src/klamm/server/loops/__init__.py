"""One driver per machine: what turns a machine's answers into I/O, and I/O into its events."""
