"""Recommendations: what people look at teaches a model, whose answers go into a compacted topic."""
