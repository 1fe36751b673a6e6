"""klamm answers every question of oracle/cases as a real Kafka does, in every version of the request."""

import time
from typing import Any

import pytest

from oracle.cases import configs, groups, partitions, reading, topics, transactions, writing
from oracle.cases.case import Ask, Case
from oracle.comparing import differences
from oracle.stage import Stage

pytestmark = pytest.mark.oracle

CASES: list[Case] = [
    *topics.CASES,
    *partitions.CASES,
    *configs.CASES,
    *writing.CASES,
    *reading.CASES,
    *groups.CASES,
    *transactions.CASES,
]
SETTLED_AFTER_SECONDS = 2.0


def questions() -> list[Any]:
    return [
        pytest.param(case, version, id=f"{case.ask.api} v{version}: {case.name}")
        for case in CASES
        for version in case.versions()
    ]


@pytest.mark.parametrize(("case", "version"), questions())
def test_klamm_answers_as_kafka_does(kafka: Stage, klamm: Stage, case: Case, version: int) -> None:
    fresh = f"fresh-{CASES.index(case)}-{version}"
    theirs: Any = None
    ours: Any = None

    for step, ask in enumerate((*case.before, case.ask)):
        sent_in = version if step == len(case.before) else None
        theirs = kafka.ask(ask, version=sent_in, fresh=fresh, earlier=theirs)
        ours = klamm.ask(ask, version=sent_in, fresh=fresh, earlier=ours)
        assert differences(theirs, ours, case.ignoring) == []
    for ask in case.after:
        _assert_agreed(kafka, klamm, ask, fresh)


def _assert_agreed(kafka: Stage, klamm: Stage, ask: Ask, fresh: str) -> None:
    """A change reaches Kafka's broker a moment after its controller has answered: both get some time to agree."""
    deadline = time.monotonic() + SETTLED_AFTER_SECONDS
    while True:
        found = differences(*(stage.ask(ask, fresh=fresh) for stage in (kafka, klamm)))
        if not found or time.monotonic() > deadline:
            break
    assert found == []
