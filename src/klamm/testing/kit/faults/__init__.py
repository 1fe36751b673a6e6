"""Faults that a test asks for: answers that are errors, late, lost or never given, and disks that fail."""
