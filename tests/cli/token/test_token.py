"""klamm token create, list, renew and expire, by somebody who has logged in."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands import Klamm
from server.login.logging_in import secured
from server.running_node import RunningNode

ANN = (
    *("-X", "security.protocol=sasl_plaintext", "-X", "sasl.mechanism=PLAIN"),
    *("-X", "sasl.username=ann", "-X", "sasl.password=another"),
)


def test_a_token_from_its_beginning_to_its_end(klamm: Klamm, tmp_path: Path) -> None:
    settings = secured(**{"delegation.token.secret.key": "what signs tokens"})
    with RunningNode(tmp_path, settings) as node:
        ann = ("-b", node.address, *ANN)
        (token,) = klamm("token", "create", "--max-lifetime-ms", "3600000", *ann).rows
        assert (token["owner"], token["expires"]) == ("ann", token["ends"])

        (listed,) = klamm("token", "list", *ann).rows
        assert listed["hmac"] == token["hmac"]

        renewed = klamm("token", "renew", token["hmac"], "--period-ms", "60000", *ann).rows
        assert renewed[0]["expires"] < token["expires"]

        assert klamm("token", "expire", token["hmac"], *ann).code == 0
        assert klamm("token", "list", *ann).rows == []


@pytest.mark.parametrize("words", [("create",), ("list",)])
def test_nobody_without_a_name_gets_a_token(ask: Klamm, words: tuple[str, ...]) -> None:
    refused = ask("token", *words)

    assert refused.code == 1
    assert "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED" in refused.err


def test_an_hmac_is_base64(ask: Klamm) -> None:
    assert ask("token", "renew", "%%%").code == 2
