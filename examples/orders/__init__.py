"""Stream processing: orders and payments are joined."""
