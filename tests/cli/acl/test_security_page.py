"""The commands on the page do what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from cli.commands import Klamm

PAGE = (Path(__file__).parents[3] / "docs" / "security.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
COMMANDS = [
    line for block in BLOCKS for line in block.splitlines() if line.startswith("klamm acl ")
]


def test_from_open_to_closed(ask: Klamm) -> None:
    assert len(COMMANDS) > 10
    for line in COMMANDS:
        command, _, otherwise = line.partition(" || ")
        answer = ask(*shlex.split(command)[1:])
        assert answer.code == (1 if otherwise else 0), (line, answer)
        if " list" in command or " delete" in command:
            assert answer.rows
