"""Nothing inner knows anything outer. The table is the authority; docs/architecture.md explains it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "klamm"

CORE = {
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
}
MAY_IMPORT: dict[str, set[str]] = {
    "base": set(),
    "protocol": {"base"},
    "log": {"base", "protocol"},
    "raft": {"base", "protocol"},
    "metadata": {"base", "protocol"},
    "security": {"base", "protocol", "metadata"},
    "quota": {"base", "metadata"},
    "controller": {"base", "protocol", "metadata", "security"},
    "coordinator": {"base", "protocol", "metadata"},
    "storage": {"base", "protocol", "log"},
    "replication": {"base", "protocol", "metadata", "log", "storage"},
    "client": {"base", "protocol", "security"},
    "server": CORE | {"client"},
    # `log` here is for `klamm log dump` alone: a tool that reads files without a broker. `metadata` is for
    # `klamm cluster metadata dump`, which reads the controllers' records.
    # `pipeline` is for its commands, which import what needs Spark only when a pipeline runs.
    "cli": {"base", "protocol", "client", "security", "log", "metadata", "pipeline"},
    # It knows the broker as any customer does: through foreign clients.
    "pipeline": {"base"},
    "testing": CORE | {"client", "server"},
}
# cli/serve.py and cli/storage.py start or prepare a broker; nobody else in cli may know the server.
MAY_KNOW_THE_SERVER = {"cli/serve.py", "cli/storage.py"}
# `klamm certs` has the one authority that there is.
MAY_KNOW_CERTIFICATES = {"testing/kit/security/security.py"}

PURE = CORE - {"log"}
NOT_PURE = {
    "asyncio",
    "socket",
    "ssl",
    "threading",
    "time",
    "random",
    "secrets",
    "os",
    "logging",
    "pathlib",
    "uvloop",
}
EXEMPT = {"base/clock.py"}


def source_files() -> list[Path]:
    return sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))


def imports_of(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse((SOURCE / path).read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            yield node.module or "", node.lineno


def our_package(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "klamm" and len(parts) > 1 else None


@pytest.mark.parametrize("path", source_files(), ids=str)
def test_module_imports_only_what_its_layer_allows(path: Path) -> None:
    home = path.parts[0]
    if home.endswith(".py"):
        return
    allowed = MAY_IMPORT[home] | ({"server"} if str(path) in MAY_KNOW_THE_SERVER else set())
    allowed |= {"cli"} if str(path) in MAY_KNOW_CERTIFICATES else set()
    for module, line in imports_of(path):
        other = our_package(module)
        if other and other != home:
            assert other in allowed, f"{path}:{line}: {home} may not import {other}"
        if home in PURE and str(path) not in EXEMPT:
            assert module.split(".")[0] not in NOT_PURE, (
                f"{path}:{line}: {home} is pure; no {module}"
            )


def test_transactions_are_verified_in_one_room() -> None:
    guards = "klamm.replication.verification"
    users = {
        path.parent
        for path in source_files()
        for module, _ in imports_of(path)
        if module == guards and str(path) != "replication/partition.py"
    }

    assert users == {Path("server/verification")}
