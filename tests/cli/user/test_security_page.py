"""The settings and commands of the page's part on logins do what it says."""

import re
import shlex
from pathlib import Path
from random import SystemRandom

from cli.commands import Klamm
from klamm.security.sasl.scram import SHA_256, ScramClient
from server.login.logging_in import log_in
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.brokers import free_port

PAGE = (Path(__file__).parents[3] / "docs" / "security.md").read_text()
LOGINS = PAGE[PAGE.index("## Logins") : PAGE.index("## ACLs")]


def settings() -> dict[str, object]:
    (text,) = re.findall(r"```properties\n(.*?)```", LOGINS, flags=re.DOTALL)
    lines = text.replace("\\\n", "").splitlines()
    found: dict[str, object] = dict(line.split("=", 1) for line in lines)
    return {**found, "listeners": f"CLIENTS://127.0.0.1:{free_port()}"}


def test_a_user_is_created_by_one_who_is_in(klamm: Klamm, tmp_path: Path) -> None:
    (command,) = re.findall(r"^\$ klamm (.*)$", LOGINS, flags=re.MULTILINE)
    with RunningNode(tmp_path, settings()) as node:
        created = klamm(*shlex.split(command), "-b", node.address, stdin=b"pear\n")
        assert created.code == 0, created.err

        with WireClient(node.address) as client:
            sasl = ScramClient(SHA_256, "ann", "pear", SystemRandom())
            assert log_in(client, sasl).error_code == 0
