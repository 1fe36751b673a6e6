"""The classes on the page are used as they stand there."""

import re
import sys
from pathlib import Path

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from server.asking import Topic, a_batch, a_produce, error, partition_of
from server.authorization.people import STANDARD
from server.running_node import RunningNode
from server.wire_client import WireClient

PAGE = (Path(__file__).parents[3] / "docs" / "security.md").read_text()
AUTHORIZER, BUILDER = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(autouse=True)
def _on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "night_watch.py").write_text(AUTHORIZER)
    (tmp_path / "places.py").write_text(BUILDER)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("night_watch", "places"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def written(tmp_path: Path, **settings: object) -> ErrorCode:
    """What a client without a name hears when it creates a topic and writes to it."""
    wanted = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    with (
        RunningNode(tmp_path / "data", {**STANDARD, **settings}) as node,
        WireClient(node.address) as client,
    ):
        (made,) = client.ask(CreateTopicsRequest(topics=[wanted], timeout_ms=9_000)).topics
        if made.error_code:
            return error(made.error_code)
        answer = partition_of(client.ask(a_produce(Topic("t", made.topic_id), a_batch())))
        return error(answer.error_code)


@pytest.mark.parametrize(
    ("shop", "code"),
    [("open", ErrorCode.NONE), ("closed", ErrorCode.TOPIC_AUTHORIZATION_FAILED)],
)
def test_the_night_watch_lets_nobody_write(tmp_path: Path, shop: str, code: ErrorCode) -> None:
    settings = {
        "authorizer.class.name": "night_watch:NightWatch",
        "super.users": "User:ANONYMOUS",
        "metrics.context.shop": shop,
    }

    assert written(tmp_path, **settings) is code


def test_who_comes_from_the_vault_is_a_super_user(tmp_path: Path) -> None:
    settings = {"principal.builder.class": "places:Places", "super.users": "Place:vault"}

    assert written(tmp_path, **settings) is ErrorCode.NONE
