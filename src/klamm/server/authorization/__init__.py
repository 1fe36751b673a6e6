"""May they: rights, who has which of them, and the book that is kept of it."""
