"""The assignors by name, as group.consumer.assignors and members name them."""

from __future__ import annotations

from klamm.coordinator.group.assignors.range import assign_ranges
from klamm.coordinator.group.assignors.spec import Assignor
from klamm.coordinator.group.assignors.uniform import assign_uniformly

ASSIGNORS: dict[str, Assignor] = {"uniform": assign_uniformly, "range": assign_ranges}
