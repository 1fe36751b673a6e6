"""What a workload is: a name, and a load that it prepares on a broker. The catalogue is in bench.workloads."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bench.figures import Figures
from bench.target import Target


class Load(Protocol):
    """Everything is prepared: topics exist, requests are encoded, connections are open."""

    def measure(self, seconds: float) -> Figures: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Workload:
    name: str
    about: str
    prepare: Callable[[Target], Load]
    # What is done once, and not over and over, has nothing to warm up.
    warms_up: bool = True
    max_rounds: int | None = None
    # It starts a broker of its own each time, so there is nothing to hold it against.
    is_own_broker: bool = False
    # Only with --big.
    is_big: bool = False
    # Only with --clients.
    is_real_client: bool = False
