"""Activity tracking: sessions from clicks."""
