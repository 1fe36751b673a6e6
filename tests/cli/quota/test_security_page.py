"""The commands of the page's part on quotas do what it says."""

import re
import shlex
from pathlib import Path

from cli.commands import Klamm
from server.running_node import RunningNode

PAGE = (Path(__file__).parents[3] / "docs" / "security.md").read_text()
QUOTAS = PAGE[PAGE.index("## Quotas") :]


def test_the_quotas_of_the_page_are_set_and_listed(klamm: Klamm, tmp_path: Path) -> None:
    commands = re.findall(r"^\$ klamm (.*)$", QUOTAS, flags=re.MULTILINE)
    with RunningNode(tmp_path) as node:
        answers = [klamm(*shlex.split(each), "-b", node.address) for each in commands]

    assert [each.code for each in answers] == [0] * 4
    assert {(row["quota"], row["value"]) for row in answers[-1].rows} == {
        ("producer_byte_rate", 1e6),
        ("consumer_byte_rate", 2e6),
        ("request_percentage", 50.0),
        ("connection_creation_rate", 20.0),
    }
