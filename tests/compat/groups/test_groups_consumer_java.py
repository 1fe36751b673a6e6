"""Apache Kafka's own consumer with group.protocol=consumer: java/ConsumerGroupCheck.java runs all checks at once."""

from pathlib import Path

import pytest

from support import checks, kafka_jars

pytestmark = pytest.mark.compat

PROGRAM = Path(__file__).parent / "java" / "ConsumerGroupCheck.java"

CHECKS = [
    "members share the partitions",
    "a group reads on where it stopped",
    "admin describes lists and deletes a group",
    "an unknown assignor is refused",
    "a classic member and a new one share a group",
    "a pattern finds topics",
    "a pattern that is not one is refused",
]


@pytest.fixture(scope="module")
def outcomes(bootstrap: str) -> dict[str, str]:
    return checks.outcomes(kafka_jars.run_source(PROGRAM, bootstrap, timeout=180))


def test_program_ran_every_check(outcomes: dict[str, str]) -> None:
    assert list(outcomes) == CHECKS


@pytest.mark.parametrize("check", CHECKS)
def test_consumer_is_served(outcomes: dict[str, str], check: str) -> None:
    assert outcomes.get(check, "did not run") == "ok"
