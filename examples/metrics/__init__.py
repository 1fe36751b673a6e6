"""Metrics: percentiles per minute, and alerts."""
