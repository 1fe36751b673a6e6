"""klamm cluster features."""

from cli.commands import Klamm


def test_levels_lie_within_what_is_supported(ask: Klamm) -> None:
    answer = ask("cluster", "features")

    levels = {row["feature"]: row for row in answer.rows}
    assert answer.code == 0
    assert levels["transaction.version"]["level"] == 2
    assert all(row["level"] <= row["highest"] for row in answer.rows)
