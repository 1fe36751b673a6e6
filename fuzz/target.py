"""What a target is: a function that takes any bytes, bytes to begin with, and what may be raised."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time

# An input that takes longer than this is a finding: the loop would stand still for all clients.
LONGEST_SECONDS = 1.0


class Finding(Exception):
    """What must not happen, happened."""


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    # Raises only what is a finding.
    run: Callable[[bytes], None]
    seeds: Callable[[], Sequence[bytes]]
    # Lets go of what the runs needed.
    close: Callable[[], None] = _nothing

    def check(self, data: bytes) -> None:
        """Run it, and watch the time."""
        start = process_time()
        self.run(data)
        seconds = process_time() - start
        if seconds > LONGEST_SECONDS:
            raise Finding(f"{self.name}: {len(data)} bytes took {seconds:.1f} s")
