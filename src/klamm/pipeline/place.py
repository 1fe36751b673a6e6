"""Where a pipeline runs: the cluster that it talks to and the folders that it keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    bootstrap: str
    # Where the progress and the state of all its queries are kept, one folder each.
    checkpoint: str
    # Where the tables of the catalog `lake` are kept.
    warehouse: str
    # Settings for every connection to the cluster, by the names of the pipeline file.
    client: Mapping[str, str] = field(default_factory=dict)
