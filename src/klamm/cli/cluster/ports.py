"""Free ports in a row, for clusters that take what there is."""

from __future__ import annotations

import socket
from random import Random

from klamm.cli.cluster.local import APART, HOST
from klamm.cli.output import CommandError

# Below those that systems give to whoever connects: nobody gets one of ours between the look and the start.
_PORTS = range(20_000, 31_000)
_ATTEMPTS = 200


def free_ports(count: int) -> int:
    """The first of so many in a row for clients, whose ports for controllers are free as well."""
    for _ in range(_ATTEMPTS):
        first = Random().choice(_PORTS)
        if all(
            _is_free(port + more) for port in range(first, first + count) for more in (0, APART)
        ):
            return first
    raise CommandError(f"{count} free ports in a row were not found; name the first with --port")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
