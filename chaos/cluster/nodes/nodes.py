"""What a run needs of a cluster, whoever's it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from chaos.cluster.nodes.disks import Disks
from chaos.cluster.nodes.network import Network


class NotStarted(Exception):
    """A node did not come up; the message has what it said."""


class Nodes(Protocol):
    # Where they have what it takes: links to cut, disks to fill and to slow down.
    network: Network | None
    disks: Disks | None

    @property
    def ids(self) -> Sequence[int]: ...

    @property
    def bootstrap(self) -> str: ...

    def start(self) -> None:
        """Those that do not run; returns when all serve."""

    def spawn(self, node: int) -> None:
        """If it does not run; does not wait until it serves."""

    def await_ready(self, node: int, seconds: float) -> bool:
        """Whether it serves by then."""

    def kill(self, node: int) -> None: ...

    def stop(self, node: int) -> None: ...

    def pause(self, node: int) -> None: ...

    def resume(self, node: int) -> None: ...

    def last_words(self) -> str: ...

    def close(self) -> None: ...
