"""The group coordinator: who belongs to a group, what each member owns, and how far it has read."""
