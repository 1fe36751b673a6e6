"""Somebody else's nodes, for which there are commands: a real Kafka, or klamm on other machines."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence

from chaos.cluster.nodes.disks import Disks
from chaos.cluster.nodes.network import Network
from chaos.cluster.nodes.nodes import NotStarted

_SECONDS = 300.0


class ForeignNodes:
    """Each command is a text in which {node} stands for the node's id: kill and start, and stop, pause and resume if there are some."""

    network: Network | None = None
    disks: Disks | None = None

    def __init__(self, bootstrap: str, ids: Sequence[int], commands: Mapping[str, str]) -> None:
        self.ids = list(ids)
        self.bootstrap = bootstrap
        self._commands = commands
        self._down: set[int] = set()

    def can(self, verb: str) -> bool:
        return verb in self._commands

    def start(self) -> None:
        for node in self.ids:
            self.spawn(node)

    def await_ready(self, node: int, seconds: float) -> bool:
        """The command to start one returns when it serves."""
        return True

    def spawn(self, node: int) -> None:
        if node in self._down:
            self._run("start", node)
            self._down.discard(node)

    def kill(self, node: int) -> None:
        if node not in self._down:
            self._run("kill", node)
            self._down.add(node)

    def stop(self, node: int) -> None:
        if node not in self._down:
            self._run("stop", node)
            self._down.add(node)

    def pause(self, node: int) -> None:
        if node not in self._down:
            self._run("pause", node)

    def resume(self, node: int) -> None:
        if node not in self._down:
            self._run("resume", node)

    def last_words(self) -> str:
        return ""

    def close(self) -> None:
        """They are not ours to end."""
        self.start()

    def _run(self, verb: str, node: int) -> None:
        words = shlex.split(self._commands[verb].format(node=node))
        done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS)
        if done.returncode:
            raise NotStarted(f"{shlex.join(words)}: {done.stdout}{done.stderr}")
