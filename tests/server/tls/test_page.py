"""docs/tls.md: its commands and settings, from top to bottom."""

import re
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from klamm.cli.app import main
from server.running_node import RunningNode
from support.brokers import free_port

PAGE = Path(__file__).parents[3] / "docs" / "tls.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def pairs(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.strip().splitlines())


def test_the_page_leads_to_a_listener_that_its_client_reaches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, create = blocks("sh")
    broker, client = (pairs(text) for text in blocks("properties"))

    assert main(create.split()[1:]) == 0
    broker["listeners"] = broker["listeners"].replace("9093", str(free_port()))
    with RunningNode(tmp_path / "data", dict(broker)) as node:
        settings = tmp_path / "client.properties"
        settings.write_text("".join(f"{name}={value}\n" for name, value in client.items()))
        where = ["-b", node.address, "--command-config", str(settings)]
        assert main(["topic", "create", "orders", *where]) == 0

        stranger = {"bootstrap.servers": node.address, "log_level": 0}
        with pytest.raises(Exception, match=r"_TRANSPORT|_ALL_BROKERS_DOWN"):
            AdminClient({**stranger, "security.protocol": "ssl"}).list_topics(timeout=2)
