"""Who may do what: klamm denies, hides and allows as a real Kafka with StandardAuthorizer does."""

from collections.abc import Iterator
from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from support.brokers import start_kafka, start_klamm, write_kafka_config
from support.guarded.stage import ADMIN, CLOSED, SETTINGS, SecuredStage
from support.guarded.table import TRIALS, Trial, codes, outline

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def kafka() -> Iterator[SecuredStage]:
    broker = start_kafka(settings=SETTINGS)
    yield SecuredStage(broker.address)
    broker.stop()


@pytest.fixture(scope="module")
def klamm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredStage]:
    """On the very same server.properties."""
    home = tmp_path_factory.mktemp("klamm")
    config = write_kafka_config(home, SETTINGS)
    broker = start_klamm(home=home, config=config)
    yield SecuredStage(broker.address)
    broker.stop()


_RULE: dict[str, Any] = {
    "resource_type": 2,
    "resource_name": "odd",
    "resource_pattern_type": 3,
    "principal": "User:ann",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
_FILTER: dict[str, Any] = {
    "resource_type_filter": 2,
    "resource_name_filter": "odd",
    "pattern_type_filter": 3,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
_ODD_RULES: list[dict[str, Any]] = [
    {},
    {"resource_type": 0},
    {"resource_type": 1},
    {"resource_type": 4},
    {"resource_type": 7, "operation": 13},
    {"resource_type": 99},
    {"resource_name": ""},
    {"resource_pattern_type": 0},
    {"resource_pattern_type": 1},
    {"resource_pattern_type": 2},
    {"resource_pattern_type": 99},
    {"principal": ""},
    {"principal": "ann"},
    {"principal": "User:"},
    {"principal": ":ann"},
    {"host": ""},
    {"operation": 0},
    {"operation": 1},
    {"operation": 15},
    {"operation": 99},
    {"permission_type": 0},
    {"permission_type": 1},
    {"permission_type": 99},
]
_ODD_FILTERS: list[dict[str, Any]] = [
    {},
    {"resource_type_filter": 0},
    {"resource_type_filter": 1},
    {"resource_type_filter": 99},
    {"resource_name_filter": None},
    {"resource_name_filter": "odder", "pattern_type_filter": 2},
    {"pattern_type_filter": 0},
    {"pattern_type_filter": 1},
    {"pattern_type_filter": 99},
    {"principal_filter": "nobody"},
    {"operation": 0},
    {"operation": 99},
    {"permission_type": 0},
    {"permission_type": 99},
]


@pytest.mark.parametrize("odd", _ODD_RULES, ids=str)
def test_a_rule_is_taken_or_refused_as_by_kafka(
    kafka: SecuredStage, klamm: SecuredStage, odd: dict[str, Any]
) -> None:
    values = {"creations": [{**_RULE, **odd}]}

    _assert_agreed(*(each.ask(ADMIN, "create_acls", values) for each in (kafka, klamm)))


@pytest.mark.parametrize("odd", _ODD_FILTERS, ids=str)
@pytest.mark.parametrize("api", ["describe_acls", "delete_acls"])
def test_a_filter_finds_what_it_finds_in_kafka(
    kafka: SecuredStage, klamm: SecuredStage, api: str, odd: dict[str, Any]
) -> None:
    wanted = {**_FILTER, **odd}
    values = {"filters": [{**wanted, "host_filter": "nowhere"}]} if api == "delete_acls" else wanted

    _assert_agreed(*(each.ask(ADMIN, api, values) for each in (kafka, klamm)))


def _assert_agreed(theirs: Any, ours: Any) -> None:
    """What Kafka stumbles over, or closes the connection for, is refused in words."""
    if theirs == CLOSED or ErrorCode.UNKNOWN_SERVER_ERROR in codes(theirs):
        assert set(codes(ours)) == {ErrorCode.INVALID_REQUEST}
    else:
        assert outline(ours) == outline(theirs)


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_klamm_allows_and_denies_as_kafka_does(
    kafka: SecuredStage, klamm: SecuredStage, trial: Trial
) -> None:
    assert outline(klamm.try_(trial)) == outline(kafka.try_(trial))
