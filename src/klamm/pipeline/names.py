"""Where a table that a pipeline file names really is. Sources and sinks must agree on it."""

from __future__ import annotations

CATALOG = "lake"
DEFAULT_NAMESPACE = "default"


def iceberg_name(table: str) -> str:
    """`page_stats` is lake.default.page_stats, `sales.page_stats` is lake.sales.page_stats; a full name stays."""
    namespace, _, name = table.rpartition(".")
    if not namespace:
        return f"{CATALOG}.{DEFAULT_NAMESPACE}.{name}"
    if namespace.startswith(f"{CATALOG}."):
        return table
    return f"{CATALOG}.{namespace}.{name}"


def delta_path(table: str, warehouse: str) -> str:
    """Delta tables need no catalog: each is a folder."""
    return f"{warehouse.rstrip('/')}/delta/{table}"
