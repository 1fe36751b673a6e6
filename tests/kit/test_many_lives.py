"""Brokers come and go in one process, and nothing of them stays: memory, threads, descriptors, ports, files.

KLAMM_LIVES=2000 has more of them.
"""

import gc
import os
import socket
import subprocess
import threading
from collections import Counter
from pathlib import Path

from klamm.testing import Broker

LIVES = int(os.environ.get("KLAMM_LIVES", "50"))
# Caches fill, and the allocator keeps some of what it has.
MOST_GROWTH_BYTES = 8 * 1024 * 1024 + LIVES * 4096


def descriptors() -> Counter[str]:
    found: Counter[str] = Counter()
    for name in os.listdir("/proc/self/fd"):
        try:
            found[os.readlink(f"/proc/self/fd/{name}").partition(":")[0]] += 1
        except FileNotFoundError:
            # That of the listing itself.
            continue
    return found


def resident_bytes() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def children() -> list[str]:
    listed = subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "args="],
        capture_output=True,
        text=True,
        check=False,
    )
    return [line for line in listed.stdout.splitlines() if "klamm.testing" in line]


def live(*, process: bool) -> None:
    """One life, with all that leaves traces. Its port is free afterwards, at once."""
    with Broker(topics={"orders": 2}, process=process) as broker:
        broker.produce("orders", ["one"])
        with broker.faults.error("METADATA", "UNKNOWN_SERVER_ERROR"):
            assert len(broker.records("orders")) == 1
        broker.clock.advance(hours=1)
        port = broker.port
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))


def test_nothing_stays_of_brokers_in_threads() -> None:
    for _ in range(5):
        live(process=False)
    threads, files, memory = threading.active_count(), descriptors(), resident_bytes()

    for _ in range(LIVES):
        live(process=False)

    assert threading.active_count() == threads
    assert descriptors() == files
    assert resident_bytes() - memory < MOST_GROWTH_BYTES


def test_nothing_stays_of_brokers_in_processes() -> None:
    # Those of fixtures that other tests of this process share.
    others = children()
    live(process=True)
    threads, files, memory = threading.active_count(), descriptors(), resident_bytes()

    for _ in range(max(1, LIVES // 10)):
        live(process=True)

    assert children() == others
    assert threading.active_count() == threads
    assert descriptors() == files
    assert resident_bytes() - memory < MOST_GROWTH_BYTES
