"""`python -m chaos.cluster`. Exit code 1 says that a promise was broken, or that the cluster did not recover."""

from __future__ import annotations

import argparse
import faulthandler
import pickle
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from chaos.cluster.checker.check import check, notes
from chaos.cluster.cycles import Cycle, Cycles, Stuck
from chaos.cluster.faults import KINDS, possible
from chaos.cluster.nodes.disks import Disks
from chaos.cluster.nodes.foreign import ForeignNodes
from chaos.cluster.nodes.network import Network, NoNetwork
from chaos.cluster.nodes.nodes import Nodes, NotStarted
from chaos.cluster.nodes.ours import OurNodes
from chaos.real.mounts import CannotMount
from chaos.real.shim import NoCompiler
from klamm.base.errors import ApiError

_VERBS = ("kill", "start", "stop", "pause", "resume")


def main(arguments: Sequence[str]) -> int:
    options = options_of(arguments)
    # So that nodes go, too, when somebody ends us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    faulthandler.register(signal.SIGUSR1)
    if options.check:
        return _check_again(Path(options.check))
    home = Path(tempfile.mkdtemp(prefix="klamm-chaos-"))
    with ExitStack() as afterwards:
        nodes = make_nodes(options, home, afterwards)
        faults = possible(nodes, options.only.split(",") if options.only else ())
        if not faults:
            print(f"chaos: no such fault; there are {', '.join(possible(nodes))}", file=sys.stderr)
            return 2
        left_out = sorted(KINDS.keys() - set(faults))
        print(f"seed {options.seed}; nodes {len(nodes.ids)}; without {left_out}", flush=True)
        is_good = _run(Cycles(nodes, seed=options.seed, faults=faults), options, home, nodes)
    if is_good:
        shutil.rmtree(home)
    else:
        print(f"chaos: what is left is in {home}", flush=True)
    return 0 if is_good else 1


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    return _parser().parse_args(arguments)


def _run(cycles: Cycles, options: argparse.Namespace, home: Path, nodes: Nodes) -> bool:
    began = time.monotonic()

    def tell(cycle: Cycle) -> None:
        verdict = "ok" if not cycle.findings else "BROKEN"
        print(
            f"cycle {cycle.number}: {cycle.seconds:.1f} s; {', '.join(cycle.deeds)}; {verdict}",
            flush=True,
        )
        for finding in (*cycle.findings, *notes(cycle.evidence)):
            print(finding, flush=True)
        if cycle.findings:
            (home / "evidence.pickle").write_bytes(pickle.dumps(cycle.evidence))

    try:
        nodes.start()
        is_good = cycles.run(options.cycles, tell)
    except (Stuck, NotStarted, ApiError) as e:
        print(f"chaos: {e}\n{nodes.last_words()}", flush=True)
        is_good = False
    if not is_good and options.stay:
        print(f"chaos: the nodes stay at {nodes.bootstrap} until Ctrl-C", flush=True)
        with suppress(KeyboardInterrupt):
            signal.pause()
    verdict = "no anomaly" if is_good else "BROKEN"
    print(f"{cycles.figures} {time.monotonic() - began:.0f} s: {verdict}", flush=True)
    print(f"faults: {dict(cycles.figures.faults.most_common())}", flush=True)
    return is_good


def make_nodes(options: argparse.Namespace, home: Path, afterwards: ExitStack) -> Nodes:
    if options.bootstrap:
        commands = {verb: text for verb in _VERBS if (text := getattr(options, verb))}
        ids = [int(each) for each in options.ids.split(",")]
        nodes: Nodes = ForeignNodes(options.bootstrap, ids, commands)
        afterwards.callback(nodes.close)
        return nodes
    network = disks = None
    if not options.plain:
        numbers = range(1, options.nodes + 1)
        try:
            network = Network(numbers)
            afterwards.callback(network.close)
        except NoNetwork as e:
            print(f"chaos: no cuts in the network: {e}", flush=True)
        try:
            disks = Disks(home, numbers)
            afterwards.callback(disks.close)
        except (CannotMount, NoCompiler) as e:
            print(f"chaos: no faults of disks: {e}", flush=True)
    ours = OurNodes(home, options.nodes, network=network, disks=disks)
    afterwards.callback(ours.close)
    return ours


def _check_again(file: Path) -> int:
    """The evidence of a run that failed, after a change of the checker."""
    evidence = pickle.loads(file.read_bytes())
    findings = check(evidence)
    for finding in (*findings, *notes(evidence)):
        print(finding)
    return 1 if findings else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m chaos.cluster",
        description="Kill, pause, cut off and starve the nodes of a cluster under load; look for every anomaly.",
        epilog="With --bootstrap the nodes are somebody else's, a real Kafka's for one: then --kill and --start, and if there "
        "are some --stop, --pause and --resume, are commands in which {node} stands for one of --ids.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--cycles", type=int, default=50, metavar="N", help="[default: 50]")
    add("--nodes", type=int, default=3, metavar="N", help="3 to 9 [default: 3]")
    add("--seed", type=int, default=random.randrange(10**6), metavar="N", help="of the faults")
    add("--only", metavar="A,B", help=f"of {', '.join(KINDS)}")
    add(
        "--plain",
        action="store_true",
        help="no namespaces, no file systems: nothing that needs root",
    )
    add("--stay", action="store_true", help="leave the nodes as they are when something is wrong")
    add("--check", metavar="FILE", help="judge the evidence.pickle of an earlier run again")
    add("--bootstrap", metavar="ADDRESSES", help="of a cluster that runs already")
    add("--ids", default="1,2,3", metavar="A,B", help="of its nodes [default: 1,2,3]")
    for verb in _VERBS:
        add(f"--{verb}", metavar="COMMAND", help=f"what to run to {verb} a node")
    return parser
