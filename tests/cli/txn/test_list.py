"""klamm txn list."""

from __future__ import annotations

from cli.commands import Klamm


def test_a_state_that_does_not_exist_is_refused(ask: Klamm) -> None:
    refused = ask("txn", "list", "--state", "Nonsense")

    assert refused.code == 1
    assert "there is no state Nonsense" in refused.err
