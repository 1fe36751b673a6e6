"""Nodes that do not belong here, and peers that talk rubbish: one clear line in a log, and nobody else is disturbed."""

import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.conftest import MakeCluster
from cluster.processes import Ledger, Load, RealCluster, until
from klamm.cli.app import main as klamm
from klamm.cli.cluster.local import HOST
from klamm.cli.cluster.ports import free_ports

pytestmark = pytest.mark.cluster
KLAMM = str(Path(sys.executable).with_name("klamm"))
STRANGER = 9
OTHER_CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"


class Stranger:
    """A node that somebody has set up wrongly, beside a cluster that works."""

    def __init__(
        self, home: Path, cluster: RealCluster, *, cluster_id: str | None, **texts: object
    ) -> None:
        port = free_ports(1)
        config = home / "stranger.properties"
        (controller,) = cluster.local.controllers
        lines: Mapping[str, object] = {
            "process.roles": "broker",
            "node.id": STRANGER,
            "controller.quorum.voters": f"{controller.id}@{controller.controller_address}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{HOST}:{port}",
            "log.dirs": home / "stranger",
            "initial.broker.registration.timeout.ms": 1500,
            **{name.replace("_", "."): value for name, value in texts.items()},
        }
        config.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        named = cluster_id or cluster.local.cluster_id
        assert klamm(["storage", "format", "--cluster-id", named, "--config", str(config)]) == 0
        self._log = home / "stranger.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [KLAMM, "serve", "--config", str(config)], stdout=subprocess.DEVNULL, stderr=log
            )

    @property
    def complaints(self) -> list[str]:
        lines = self._log.read_text(errors="replace").splitlines()
        return [line for line in lines if " INFO " not in line]

    def ends(self) -> int:
        return self.process.wait(60)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[type[Stranger]]:
    made: list[Stranger] = []

    def make(*args: object, **named: object) -> Stranger:
        made.append(Stranger(tmp_path, *args, **named))  # type: ignore[arg-type]
        return made[-1]

    yield make  # type: ignore[misc]
    for each in made:
        each.close()


@contextmanager
def undisturbed(cluster: RealCluster) -> Iterator[Ledger]:
    """Somebody writes meanwhile, and notices nothing."""
    cluster.create_topic("topic", replicas=2, min_insync_replicas=2)
    ledger = Ledger(cluster, "topic")
    ledger.write(10)
    leader = cluster.leader("topic")

    with Load(ledger):
        yield ledger

    assert not ledger.refused
    assert cluster.leader("topic") == leader
    ledger.check()


@pytest.fixture
def two(make_cluster: MakeCluster) -> RealCluster:
    return make_cluster(roles="xb")


def test_a_node_of_another_cluster_is_refused(two: RealCluster, stranger: type[Stranger]) -> None:
    with undisturbed(two):
        node = stranger(two, cluster_id=OTHER_CLUSTER)
        code = node.ends()

    refused, last = node.complaints
    assert code == 1
    assert refused.endswith("reason=INCONSISTENT_CLUSTER_ID")
    assert last == (
        f"klamm cannot start: the controllers are those of another cluster than {OTHER_CLUSTER}."
    )


def test_a_number_that_is_used_already_is_refused(
    two: RealCluster, stranger: type[Stranger]
) -> None:
    with undisturbed(two):
        node = stranger(two, cluster_id=None, node_id=2)
        code = node.ends()

    assert code == 1
    assert node.complaints[-1] == (
        "klamm cannot start: a broker with node.id 2 runs in the cluster already."
    )
    assert len(node.complaints) == 2


def test_a_node_that_takes_itself_for_a_voter_is_none_and_is_named(
    two: RealCluster, stranger: type[Stranger]
) -> None:
    (real,) = two.local.controllers
    port = free_ports(1)
    ours, its = f"{real.id}@{real.controller_address}", f"{STRANGER}@{HOST}:{port}"
    before = two.asks(lambda admin: admin.quorum())

    with undisturbed(two):
        stranger(
            two,
            cluster_id=None,
            process_roles="controller",
            listeners=f"CONTROLLER://{HOST}:{port}",
            controller_quorum_voters=f"{ours},{its}",
        )
        until(
            lambda: f"no voter, whatever its settings say: controller={STRANGER}" in two.log_of(1)
        )

    after = two.asks(lambda admin: admin.quorum())
    assert (after.leader_id, after.epoch) == (before.leader_id, before.epoch)
    assert [voter.node_id for voter in after.voters] == [real.id]


def test_a_broker_that_reaches_no_controller_says_so_and_gives_up(
    two: RealCluster, stranger: type[Stranger]
) -> None:
    nobody = f"1@{HOST}:{free_ports(1)}"

    node = stranger(two, cluster_id=None, controller_quorum_voters=nobody)

    assert node.ends() == 1
    assert node.complaints[-1] == (
        "klamm cannot start: no active controller of the quorum can be reached."
    )
    assert len(node.complaints) == 2


@pytest.mark.parametrize(
    "rubbish",
    [b"GET / HTTP/1.1\r\n\r\n", b"\x00\x00\x00\x04\xff\xff\xff\xff", bytes(range(255, 0, -1)) * 20],
    ids=["http", "short", "bytes"],
)
def test_rubbish_on_the_listener_of_the_controller_closes_its_connection(
    two: RealCluster, rubbish: bytes
) -> None:
    (controller,) = two.local.controllers
    before = complaints_of(two, controller.id)

    with undisturbed(two), socket.create_connection((HOST, controller.port + 1000), 10) as peer:
        peer.sendall(rubbish)
        said = read_to_the_end(peer)

    (line,) = complaints_of(two, controller.id)[len(before) :]
    assert said == b""
    assert "closed a connection: peer=127.0.0.1" in line


def complaints_of(cluster: RealCluster, node: int) -> list[str]:
    return [line for line in cluster.log_of(node).splitlines() if " INFO " not in line]


def read_to_the_end(peer: socket.socket) -> bytes:
    said = b""
    try:
        while data := peer.recv(4096):
            said += data
    except ConnectionResetError:
        pass
    return said
