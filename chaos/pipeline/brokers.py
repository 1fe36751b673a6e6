"""Several brokers instead of one, of which any may be killed while the pipeline goes on."""

from collections.abc import Sequence
from pathlib import Path

from chaos.cluster.nodes.ours import OurNodes


class Brokers:
    """As BrokerProcess, for all of them at once; `nodes` has each by itself."""

    def __init__(self, home: Path, count: int) -> None:
        self.nodes = OurNodes(home, count, network=None, disks=None)

    @property
    def ids(self) -> Sequence[int]:
        return self.nodes.ids

    @property
    def addresses(self) -> list[tuple[str, int]]:
        pairs = (each.split(":") for each in self.nodes.bootstrap.split(","))
        return [(host, int(port)) for host, port in pairs]

    def start(self) -> None:
        self.nodes.start()

    def kill(self) -> None:
        self.nodes.close()
