"""LocalCluster: nodes on this machine, each a process with a directory of its own, all in one directory.

    DIR/cluster.json              its id, and which nodes it has on which ports
    DIR/node1/server.properties   as any node's, to be read and changed
    DIR/node1/data, log, ready    what it keeps, what it says, and that it serves

A node's process is whoever holds the lock on its data: the kernel knows, so no other process is ever taken for it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, field
from io import StringIO
from pathlib import Path
from struct import Struct
from typing import Self

from klamm.cli.output import CommandError
from klamm.cli.storage import random_uuid
from klamm.cli.storage import run as format_storage

HOST = "127.0.0.1"
MOST_NODES = 9
_SERVE = "import sys; from klamm.cli.app import main; sys.exit(main())"
_FILE = "cluster.json"
_POLL_SECONDS = 0.005
_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
# Between the ports of a node for clients and for controllers.
APART = 1000
# Linux's struct flock: type, whence, start, length, holder.
_FLOCK = Struct("@hhqqi4x")
_ROLES = {"x": "broker,controller", "b": "broker", "c": "controller"}


@dataclass(frozen=True, slots=True)
class LocalNode:
    """`role` is x for broker and controller, b or c for one of them."""

    id: int
    role: str
    port: int
    home: Path

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def controller_address(self) -> str:
        return f"{HOST}:{self.port + APART}"

    @property
    def config(self) -> Path:
        return self.home / "server.properties"

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def log(self) -> Path:
        return self.home / "log"

    @property
    def pid(self) -> int | None:
        """Of the process that runs it, if one does."""
        return _holder(self.data / ".lock")

    @property
    def is_ready(self) -> bool:
        try:
            return b'"ready"' in (self.home / "ready").read_bytes()
        except OSError:
            return False

    def spawn(self) -> int:
        """A process that outlives this one; returns its number."""
        arguments = [sys.executable, "-c", _SERVE, "serve", "--json", "--config", str(self.config)]
        create = os.O_WRONLY | os.O_CREAT
        return os.posix_spawn(
            sys.executable,
            arguments,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, self.home / "ready", create | os.O_TRUNC, 0o644),
                (os.POSIX_SPAWN_OPEN, 2, self.log, create | os.O_APPEND, 0o644),
            ],
            setsid=True,
        )

    def last_words(self) -> str:
        try:
            lines = self.log.read_text(errors="replace").strip().splitlines()
        except OSError:
            return "it left no log"
        return lines[-1] if lines else "it left no log"


@dataclass(slots=True)
class LocalCluster:
    directory: Path
    cluster_id: str
    nodes: list[LocalNode]
    # Processes of ours, by node.
    _children: dict[int, int] = field(default_factory=dict)

    @classmethod
    def create(
        cls,
        directory: Path,
        *,
        roles: str,
        port: int,
        settings: Mapping[str, object] | None = None,
    ) -> Self:
        """The files of it; nothing is started."""
        if (directory / _FILE).exists():
            raise CommandError(
                f"there is a cluster in {directory} already; `klamm cluster start` starts it"
            )
        if directory.exists() and any(directory.iterdir()):
            raise CommandError(f"{directory} is not empty; choose another with --dir")
        nodes = [
            LocalNode(number, role, port + number - 1, directory / f"node{number}")
            for number, role in enumerate(roles, 1)
        ]
        made = cls(directory, str(random_uuid()), nodes)
        try:
            for node in nodes:
                node.home.mkdir(parents=True)
                node.config.write_text(_properties(made._texts(node) | dict(settings or {})))
                made._format(node)
            made._write()
        except OSError as e:
            raise CommandError(f"cannot write {e.filename or directory}: {e.strerror}") from e
        return made

    @classmethod
    def open(cls, directory: Path) -> Self:
        try:
            facts = json.loads((directory / _FILE).read_text())
            nodes = [
                LocalNode(
                    int(each["id"]), str(each["role"]), int(each["port"]), directory / each["home"]
                )
                for each in facts["nodes"]
            ]
            return cls(directory, str(facts["cluster_id"]), nodes)
        except FileNotFoundError as e:
            raise CommandError(
                f"there is no cluster in {directory}; `klamm cluster create` makes one"
            ) from e
        except (OSError, ValueError, KeyError, TypeError, UnicodeError) as e:
            raise CommandError(f"{directory / _FILE} cannot be read: {e}") from e

    @property
    def brokers(self) -> list[LocalNode]:
        return [node for node in self.nodes if node.role in "xb"]

    @property
    def controllers(self) -> list[LocalNode]:
        return [node for node in self.nodes if node.role in "xc"]

    @property
    def bootstrap(self) -> str:
        return ",".join(node.address for node in self.brokers)

    def node(self, node_id: int) -> LocalNode:
        return next(each for each in self.nodes if each.id == node_id)

    # Coming and going

    def start(
        self, nodes: Iterable[LocalNode] | None = None, *, seconds: float = _START_SECONDS
    ) -> None:
        """Those that do not run; returns when all serve."""
        wanted = [node for node in (nodes or self.nodes) if node.pid is None]
        for node in wanted:
            self.spawn(node)
        try:
            self.await_ready(wanted, seconds)
        except CommandError:
            # Half a cluster is more than anybody asked for.
            for node in wanted:
                self.signal(node, signal.SIGKILL)
            raise

    def spawn(self, node: LocalNode) -> None:
        """Does not wait until it serves."""
        (node.home / "ready").unlink(missing_ok=True)
        self._children[node.id] = node.spawn()

    def await_ready(self, nodes: Sequence[LocalNode], seconds: float = _START_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        ours = set(self._children)
        for node in nodes:
            while not node.is_ready:
                if node.id in ours and not self._is_child_alive(node):
                    raise CommandError(f"node {node.id} did not start: {node.last_words()}")
                if time.monotonic() > deadline:
                    raise CommandError(f"node {node.id} is not ready: {node.last_words()}")
                time.sleep(_POLL_SECONDS)

    def stop(self, nodes: Iterable[LocalNode] | None = None) -> None:
        """In good order: each hands over what it leads. What does not end in time is killed."""
        going = {node: pid for node in (nodes or self.nodes) if (pid := node.pid) is not None}
        for pid in going.values():
            os.kill(pid, signal.SIGTERM)
        self._await_end(going, _STOP_SECONDS)
        for node, pid in going.items():
            if node.pid == pid:
                os.kill(pid, signal.SIGKILL)
        self._await_end(going, _STOP_SECONDS)

    def signal(self, node: LocalNode, what: signal.Signals) -> None:
        # One of ours also before it holds the lock.
        pid = self._children[node.id] if self._is_child_alive(node) else node.pid
        if pid is not None:
            os.kill(pid, what)
            if what is signal.SIGKILL:
                self._await_end({node: pid}, _STOP_SECONDS)

    def destroy(self) -> None:
        for node in self.nodes:
            self.signal(node, signal.SIGKILL)
        shutil.rmtree(self.directory)

    def _await_end(self, going: Mapping[LocalNode, int], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        for node, pid in going.items():
            while time.monotonic() < deadline:
                if node.pid != pid and not self._is_child_alive(node):
                    break
                time.sleep(_POLL_SECONDS)

    def _is_child_alive(self, node: LocalNode) -> bool:
        """Whether it is a process of ours that lives; one that has ended is forgotten."""
        pid = self._children.get(node.id)
        if pid is None:
            return False
        ended, _ = os.waitpid(pid, os.WNOHANG)
        if ended:
            del self._children[node.id]
        return not ended

    # Files

    def _texts(self, node: LocalNode) -> dict[str, object]:
        clients = f"PLAINTEXT://{node.address}"
        controllers = f"CONTROLLER://{node.controller_address}"
        voters = ",".join(f"{each.id}@{each.controller_address}" for each in self.controllers)
        copies = min(3, len(self.brokers))
        texts: dict[str, object] = {
            "process.roles": _ROLES[node.role],
            "node.id": node.id,
            "controller.quorum.voters": voters,
            "listeners": {"x": f"{clients},{controllers}", "b": clients, "c": controllers}[
                node.role
            ],
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": node.data,
        }
        if node.role != "c":
            texts["advertised.listeners"] = clients
            texts["inter.broker.listener.name"] = "PLAINTEXT"
        return texts | {
            "default.replication.factor": copies,
            "min.insync.replicas": max(1, copies - 1),
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": max(1, copies - 1),
        }

    def _format(self, node: LocalNode) -> None:
        said = StringIO()
        arguments = ["format", "--cluster-id", self.cluster_id, "--config", str(node.config)]
        with redirect_stdout(said):
            code = format_storage(arguments)
        if code:
            raise CommandError(f"node {node.id} could not be prepared: {said.getvalue().strip()}")

    def _write(self) -> None:
        nodes = [asdict(node) | {"home": node.home.name} for node in self.nodes]
        facts = {"cluster_id": self.cluster_id, "nodes": nodes}
        (self.directory / _FILE).write_text(json.dumps(facts, indent=2) + "\n")


def chosen(cluster: LocalCluster, numbers: Sequence[int] | None) -> list[LocalNode]:
    """All of them if none is named."""
    known = {node.id: node for node in cluster.nodes}
    for number in numbers or ():
        if number not in known:
            raise CommandError(f"there is no node {number}; the cluster has {_listed(known)}")
    return [known[number] for number in dict.fromkeys(numbers or known)]


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def default_directory(environment: Mapping[str, str]) -> Path:
    from klamm.cli.serve import default_data_directory

    return Path(f"{default_data_directory(environment)}-cluster")


def _properties(texts: Mapping[str, object]) -> str:
    return "".join(f"{name}={value}\n" for name, value in texts.items())


def _holder(path: Path) -> int | None:
    """Asks for the lock without taking it: a node that starts at this moment must get it."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = _FLOCK.unpack(fcntl.fcntl(file, fcntl.F_GETLK, asked))
    finally:
        os.close(file)
    return None if kind == fcntl.F_UNLCK else pid
