"""Which tables a warehouse holds, without Spark: in files of this machine each table is a folder."""

from __future__ import annotations

import os
from urllib.parse import unquote, urlsplit

from klamm.pipeline.names import CATALOG, DEFAULT_NAMESPACE

_METADATA = "metadata"


def tables_in(warehouse: str) -> list[str] | None:
    """With their namespaces, as `default.clicks`. None: the warehouse is elsewhere, and only Spark can look."""
    root = _local_path(warehouse)
    if root is None:
        return None
    return sorted(
        f"{namespace}.{table}"
        for namespace in _folders(root)
        for table in _folders(os.path.join(root, namespace))
        if os.path.isdir(os.path.join(root, namespace, table, _METADATA))
    )


def full_name(table: str) -> str:
    return f"{CATALOG}.{table}"


def short_name(table: str) -> str | None:
    """The name that needs no namespace; None if the table is in another one."""
    namespace, _, name = table.rpartition(".")
    return name if namespace == DEFAULT_NAMESPACE else None


def _local_path(warehouse: str) -> str | None:
    address = urlsplit(warehouse)
    if address.scheme == "file" and address.netloc in ("", "localhost"):
        return unquote(address.path)
    return None if address.scheme else warehouse


def _folders(path: str) -> list[str]:
    try:
        return [entry.name for entry in os.scandir(path) if entry.is_dir()]
    except OSError:
        return []  # nothing was ever kept there
