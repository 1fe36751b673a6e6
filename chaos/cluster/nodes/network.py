"""A network namespace for each node, and links between them that can be cut, each direction for itself. Needs root.

A cut is a wrong hardware address: what a node sends to another one goes to nobody, and nobody is told. It takes no packet
filter, and connections that are open stay so on both sides.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

_NOBODY = "02:00:00:00:00:01"
_BRIDGE_HOST = 254


class NoNetwork(Exception):
    """Namespaces cannot be made here."""


class Network:
    """Nodes have the addresses .1, .2, ... of a network of their own; this process is at .254."""

    def __init__(self, nodes: Sequence[int]) -> None:
        if os.geteuid() != 0:
            raise NoNetwork("only root may make network namespaces")
        if shutil.which("ip") is None:
            raise NoNetwork("there is no `ip` here")
        self._nodes = list(nodes)
        # Several runs on one machine do not meet.
        self._name = f"kl{os.getpid()}"
        self._subnet = f"10.{100 + os.getpid() // 250 % 100}.{os.getpid() % 250}"
        self._cuts: set[tuple[int | None, int]] = set()
        try:
            self._make()
        except NoNetwork:
            self.close()
            raise

    def _make(self) -> None:
        bridge = f"{self._name}br"
        _ip("link", "add", bridge, "type", "bridge")
        _ip("addr", "add", f"{self._subnet}.{_BRIDGE_HOST}/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for node in self._nodes:
            space, veth = self._space(node), f"{self._name}v{node}"
            _ip("netns", "add", space)
            _ip("link", "add", veth, "type", "veth", "peer", "name", "eth0", "netns", space)
            _ip("link", "set", veth, "master", bridge, "up")
            _ip("-n", space, "addr", "add", f"{self.address(node)}/24", "dev", "eth0")
            _ip("-n", space, "link", "set", "eth0", "up")
            _ip("-n", space, "link", "set", "lo", "up")

    def address(self, node: int) -> str:
        return f"{self._subnet}.{node}"

    def command(self, node: int) -> list[str]:
        """What stands before the command of a node."""
        return ["ip", "netns", "exec", self._space(node)]

    def cut(self, source: int | None, target: int) -> None:
        """Nothing of the one reaches the other any more; None is this process and all clients in it."""
        self._neighbour("replace", source, target, "lladdr", _NOBODY, "nud", "permanent")
        self._cuts.add((source, target))

    def heal(self) -> None:
        for source, target in self._cuts:
            self._neighbour("del", source, target)
        self._cuts.clear()

    def close(self) -> None:
        for node in self._nodes:
            if Path("/run/netns", self._space(node)).exists():
                _ip("netns", "del", self._space(node))
        subprocess.run(["ip", "link", "del", f"{self._name}br"], capture_output=True)

    def _neighbour(self, verb: str, source: int | None, target: int, *more: str) -> None:
        inside = () if source is None else ("-n", self._space(source))
        device = f"{self._name}br" if source is None else "eth0"
        _ip(*inside, "neigh", verb, self.address(target), *more, "dev", device)

    def _space(self, node: int) -> str:
        return f"{self._name}n{node}"


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode:
        raise NoNetwork(f"ip {' '.join(words)}: {done.stderr.strip()}")
