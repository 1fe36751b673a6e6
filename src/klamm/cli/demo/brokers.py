"""Three brokers, records there and back, and a broker that is killed in between."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from klamm.cli.cluster.arguments import show_nodes
from klamm.cli.cluster.local import LocalCluster
from klamm.cli.cluster.ports import free_ports
from klamm.cli.demo.screen import let_run, run, say, tell
from klamm.cli.output import CommandError

TOPIC = "klamm-demo"
ROLES = "xxx"
# A key for each partition, so that whoever dies leads one of them.
BEFORE = ("ann:bought apples", "bob:bought bread", "joe:bought jam")
AFTER = ("ann:paid", "bob:paid", "joe:paid")
VICTIM = "1"
_LOOK_SECONDS = 0.2


@contextmanager
def three_brokers(directory: Path, port: int, *, kept: bool) -> Iterator[LocalCluster]:
    """One cluster, until the end. What is not kept need not be stopped in good order."""
    say("cluster", "create", "--dir", str(directory), "--port", str(port))
    cluster = LocalCluster.create(
        directory, roles=ROLES, port=port or free_ports(len(ROLES)), settings={}
    )
    # They outlive us unless told otherwise: whatever ends us, also a terminal that is closed, unwinds the stack like Ctrl-C.
    before = {each: signal.signal(each, _interrupt) for each in (signal.SIGTERM, signal.SIGHUP)}
    try:
        _start(cluster)
        show_nodes(cluster, None)
        yield cluster
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        if kept:
            cluster.stop()
        else:
            cluster.destroy()


def _start(cluster: LocalCluster) -> None:
    try:
        cluster.start()
    except CommandError as failure:
        raise CommandError(
            "the brokers did not start",
            why=failure.what,
            hint="`make run PORT=0` or `klamm demo --port 0` takes free ports",
        ) from failure


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def show_a_death(cluster: LocalCluster) -> None:
    """A broker is killed between two writes. What was acknowledged is there, and so is what came after."""
    everybody, where = cluster.bootstrap, ("--dir", str(cluster.directory))
    run(everybody, "produce", TOPIC, "--key-separator", ":", lines=BEFORE)
    tell(f"Every record is on three brokers. Broker {VICTIM} leads a third of them; now it dies.")
    let_run("cluster", "stop", "--kill", VICTIM, *where)
    run(everybody, "produce", TOPIC, "--key-separator", ":", lines=AFTER)
    shown = run(everybody, "consume", TOPIC, "--exit", "--format", "%k:%s\\n")
    check_nothing_is_lost((*BEFORE, *AFTER), shown.splitlines())
    tell("Nothing is lost, and others lead. It may come back, and catches up:")
    let_run("cluster", "start", VICTIM, *where)


def check_nothing_is_lost(sent: Sequence[str], found: Sequence[str]) -> None:
    """Each once; and what belongs to one key in the order in which it was sent."""
    keys = {record.partition(":")[0] for record in sent}
    if sorted(found) == sorted(sent) and all(_of(key, found) == _of(key, sent) for key in keys):
        return
    raise CommandError(
        "the records did not come back", why=f"sent {sent}, read {found}", hint="klamm doctor"
    )


def _of(key: str, records: Sequence[str]) -> list[str]:
    return [record for record in records if record.startswith(f"{key}:")]


def stay_up(cluster: LocalCluster) -> None:
    """Returns when no broker is left."""
    while any(node.pid is not None for node in cluster.nodes):
        time.sleep(_LOOK_SECONDS)
