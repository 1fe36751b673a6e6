"""Rows into Iceberg and Delta tables: what both need, and each format's way to take a batch once."""
