"""What a pipeline computes: every source, table and step as a view of one Spark session."""
