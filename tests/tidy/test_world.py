"""A node reaches the world through its World and nowhere else: then a simulated one replaces all of it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "klamm"

INSIDE = (
    "base",
    "protocol",
    "log",
    "raft",
    "metadata",
    "security",
    "quota",
    "controller",
    "coordinator",
    "replication",
    "storage",
    "server",
    "client",
)
WAYS_OUT = {
    "concurrent",
    "fcntl",
    "multiprocessing",
    "os",
    "pathlib",
    "queue",
    "random",
    "resource",
    "secrets",
    "select",
    "selectors",
    "shutil",
    "signal",
    "socket",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "urllib.request",
    "uuid",
    "uvloop",
}
# Of a loop: each begins something that no World knows of.
LOOP_WAYS_OUT = {
    "add_reader",
    "add_signal_handler",
    "connect_accepted_socket",
    "create_connection",
    "create_server",
    "run_in_executor",
    "start_server",
    "to_thread",
}
# The real world, and the process around it.
REAL = {
    "base/clock.py",
    "log/disk.py",
    "server/process.py",
    "server/world/compaction.py",
    "server/world/compaction_child.py",
    "server/world/compaction_process.py",
    "server/world/machine.py",
    "server/world/memory.py",
    "server/world/real.py",
    "server/world/sockets.py",
    "server/world/threads.py",
    "server/world/tls/connection.py",
    "server/world/tls/context.py",
    "server/world/tls/failures.py",
    "server/world/tls/handshakes.py",
    "server/world/tls/listening.py",
    "server/world/tls/stores.py",
    "server/world/turns.py",
    "client/environment.py",
}
# The type of a source that is handed in; nobody draws from a module.
RANDOM_AS_A_TYPE = {"client/backoff.py", "client/producer/partitioner.py"}


def files_inside() -> list[Path]:
    found = [path for name in INSIDE for path in sorted((SOURCE / name).rglob("*.py"))]
    return [path.relative_to(SOURCE) for path in found]


def ways_out(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse((SOURCE / path).read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in WAYS_OUT:
                    yield f"line {node.lineno}: import {alias.name}"
        elif isinstance(node, ast.ImportFrom):
            if (node.module or "").split(".")[0] in WAYS_OUT:
                yield f"line {node.lineno}: from {node.module} import"
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id == "open":
                yield f"line {node.lineno}: open()"
            elif isinstance(node.func, ast.Attribute) and node.func.attr in LOOP_WAYS_OUT:
                yield f"line {node.lineno}: {node.func.attr}()"


@pytest.mark.parametrize("path", files_inside(), ids=str)
def test_the_world_is_reached_through_the_world_alone(path: Path) -> None:
    if str(path) in REAL:
        return
    allowed = {"from random import"} if str(path) in RANDOM_AS_A_TYPE else set()
    found = [each for each in ways_out(path) if each.partition(": ")[2] not in allowed]
    assert not found, f"{path}: {found}"


def test_who_is_exempt_exists() -> None:
    assert {path for path in REAL | RANDOM_AS_A_TYPE if not (SOURCE / path).exists()} == set()
