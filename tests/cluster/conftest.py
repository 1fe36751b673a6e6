"""Clusters of real processes. Tests of a file that want the same nodes get the same ones, whole and empty again."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from cluster.processes import RealCluster

MakeCluster = Callable[..., RealCluster]


@pytest.fixture(scope="module")
def _made() -> Iterator[dict[str, RealCluster]]:
    made: dict[str, RealCluster] = {}
    yield made
    for each in made.values():
        each.destroy()


@pytest.fixture
def make_cluster(
    _made: dict[str, RealCluster], tmp_path_factory: pytest.TempPathFactory
) -> MakeCluster:
    def make(
        *,
        roles: str = "xxx",
        settings: Mapping[str, object] | None = None,
        of_node: Mapping[int, Mapping[str, object]] | None = None,
    ) -> RealCluster:
        wanted = f"{roles} {settings} {of_node}"
        if wanted in _made:
            _made[wanted].restore()
        else:
            home = Path(tmp_path_factory.mktemp("nodes"))
            cluster = RealCluster(home, roles=roles, settings=settings, of_node=of_node)
            _made[wanted] = cluster
            cluster.start()
        return _made[wanted]

    return make


@pytest.fixture
def cluster(make_cluster: MakeCluster) -> RealCluster:
    """Three nodes, each broker and controller."""
    return make_cluster()
