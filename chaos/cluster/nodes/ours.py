"""klamm's own nodes: processes of this machine, each broker and controller, in namespaces and on disks of their own if they can be had."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from chaos.cluster.nodes.disks import Disks
from chaos.cluster.nodes.network import Network
from chaos.cluster.nodes.nodes import NotStarted
from klamm.cli.cluster.local import HOST, LocalCluster, LocalNode

START_SECONDS = 120.0
# A node that finds no controller to hand over to would wait for minutes, as Kafka does.
STOP_SECONDS = 15.0
_PORTS = range(20_000, 30_000)
_SERVE = "import sys; from klamm.cli.app import main; sys.exit(main())"
# Short times, so that a cycle sees sessions end and what is done by the clock come round.
SETTINGS: Mapping[str, object] = {
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 5000,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1000,
    "group.consumer.min.session.timeout.ms": 1000,
    "group.consumer.min.heartbeat.interval.ms": 500,
    "group.consumer.session.timeout.ms": 6000,
    "group.consumer.heartbeat.interval.ms": 1000,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.num.partitions": 4,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
    "leader.imbalance.check.interval.seconds": 5,
    "metadata.log.max.snapshot.interval.ms": 20_000,
    "log.segment.bytes": 1 << 20,
    "log.flush.offset.checkpoint.interval.ms": 1000,
    "replica.high.watermark.checkpoint.interval.ms": 700,
}


class OurNodes:
    def __init__(
        self, home: Path, count: int, *, network: Network | None, disks: Disks | None
    ) -> None:
        self.network, self.disks = network, disks
        self._home = home
        self._local = LocalCluster.create(
            home / "cluster", roles="x" * count, port=_free_ports(count), settings=SETTINGS
        )
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        for node in self._local.nodes:
            self._settle_in(node)

    def _settle_in(self, node: LocalNode) -> None:
        """Onto its disk, and into its namespace."""
        text = node.config.read_text()
        if self.network is not None:
            for each in self._local.nodes:
                inside = self.network.address(each.id)
                for address in (each.address, each.controller_address):
                    text = text.replace(address, address.replace(HOST, inside))
        if self.disks is not None:
            data = self.disks.directory(node.id) / "data"
            shutil.move(node.data, data)
            text = text.replace(f"log.dirs={node.data}", f"log.dirs={data}")
        node.config.write_text(text)

    @property
    def ids(self) -> Sequence[int]:
        return [node.id for node in self._local.nodes]

    @property
    def bootstrap(self) -> str:
        return ",".join(self._address(node) for node in self._local.nodes)

    def _address(self, node: LocalNode) -> str:
        host = HOST if self.network is None else self.network.address(node.id)
        return f"{host}:{node.port}"

    # Coming and going

    def start(self) -> None:
        for node in self.ids:
            self.spawn(node)
        deadline = time.monotonic() + START_SECONDS
        for node in self.ids:
            if not self.await_ready(node, deadline - time.monotonic()):
                raise NotStarted(f"node {node} did not start\n{_end_of(self._local.node(node))}")

    def await_ready(self, node: int, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not self._local.node(node).is_ready:
            if not self.is_running(node) or time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def spawn(self, node: int) -> None:
        if self.is_running(node):
            return
        local = self._local.node(node)
        (local.home / "ready").unlink(missing_ok=True)
        prefix = [] if self.network is None else self.network.command(node)
        command = [sys.executable, "-c", _SERVE, "serve", "--json", "--config", str(local.config)]
        more = {} if self.disks is None else self.disks.environment(node)
        with open(local.home / "ready", "wb") as out, open(local.log, "ab") as log:
            self._processes[node] = subprocess.Popen(
                [*prefix, *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                env=os.environ | dict(more),
            )

    def is_running(self, node: int) -> bool:
        process = self._processes.get(node)
        return process is not None and process.poll() is None

    def kill(self, node: int) -> None:
        self._signal(node, signal.SIGKILL)
        if (process := self._processes.get(node)) is not None:
            process.wait()

    def stop(self, node: int) -> None:
        """As an operator does, with patience that has an end."""
        self._signal(node, signal.SIGTERM)
        process = self._processes.get(node)
        if process is not None:
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill(node)

    def pause(self, node: int) -> None:
        self._signal(node, signal.SIGSTOP)

    def resume(self, node: int) -> None:
        self._signal(node, signal.SIGCONT)

    def _signal(self, node: int, what: signal.Signals) -> None:
        if self.is_running(node):
            self._processes[node].send_signal(what)

    def last_words(self) -> str:
        return "\n".join(f"== node {each.id}\n{_end_of(each)}" for each in self._local.nodes)

    def close(self) -> None:
        for node in self.ids:
            self.kill(node)


def _end_of(node: LocalNode) -> str:
    try:
        return node.log.read_text(errors="replace")[-6000:]
    except OSError:
        return "it left no log"


def _free_ports(count: int) -> int:
    """The first of so many in a row that are free, and so are those a thousand above them."""
    while True:
        first = random.choice(_PORTS)
        if all(_is_free(first + above + each) for above in (0, 1000) for each in range(count)):
            return first


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
