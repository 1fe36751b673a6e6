"""Admin: one file per kind of thing it looks after."""
