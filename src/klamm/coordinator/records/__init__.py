"""The records of the coordinators' internal topics. Declarations only."""
