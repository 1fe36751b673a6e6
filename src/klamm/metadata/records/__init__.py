"""The records of the metadata log. Declarations only; what they mean is said in metadata/delta.py."""
