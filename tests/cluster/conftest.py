"""Clusters of real processes."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from cluster.processes import RealCluster

MakeCluster = Callable[..., RealCluster]


@pytest.fixture
def make_cluster(tmp_path: Path) -> Iterator[MakeCluster]:
    made: list[RealCluster] = []

    def make(
        *,
        roles: str = "xxx",
        settings: Mapping[str, object] | None = None,
        of_node: Mapping[int, Mapping[str, object]] | None = None,
    ) -> RealCluster:
        home = tmp_path / str(len(made))
        cluster = RealCluster(home, roles=roles, settings=settings, of_node=of_node)
        made.append(cluster)
        cluster.start()
        return cluster

    yield make
    for each in made:
        each.destroy()


@pytest.fixture
def cluster(make_cluster: MakeCluster) -> RealCluster:
    """Three nodes, each broker and controller."""
    return make_cluster()
