"""Very many connections at rest. `python -m chaos --only crowd` holds 15,000 and compares waiting times."""

from pathlib import Path

from chaos.real import crowd


def test_a_thousand_connections_at_rest_cost_next_to_nothing(tmp_path: Path):
    held = crowd.hold(tmp_path, 1_000, requests=50)

    assert held.connections == 1_000
    assert held.kb_per_connection < 8
