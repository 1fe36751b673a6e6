"""Rules that Kafka wrote are there when klamm takes over its data directory, and the other way round."""

from collections.abc import Callable
from pathlib import Path

import pytest

from klamm.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from klamm.protocol.messages.describe_acls import DescribeAclsRequest
from support.brokers import KAFKA_CONFIG, Broker, start_kafka, start_klamm
from support.patience import eventually
from support.raw_client import RawClient

pytestmark = pytest.mark.oracle

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


def _create(address: str, name: str) -> None:
    rules = [
        AclCreation(
            resource_type=2,
            resource_name=name,
            resource_pattern_type=pattern,
            principal="User:ann",
            host="*",
            operation=3,
            permission_type=permission,
        )
        for pattern in (3, 4)
        for permission in (2, 3)
    ]
    with RawClient(address) as client:
        answer = client.ask("create_acls", 3, CreateAclsRequest(creations=rules))
    assert [each.error_code for each in answer.results] == [0] * 4


def _found(address: str) -> set[tuple[str, int, int]]:
    request = DescribeAclsRequest(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    with RawClient(address) as client:
        answer = client.ask("describe_acls", 3, request)
    return {
        (resource.resource_name, resource.pattern_type, acl.permission_type)
        for resource in answer.resources
        for acl in resource.acls
    }


def test_rules_go_from_kafka_to_klamm_and_back(tmp_path: Path) -> None:
    def kafka() -> Broker:
        return start_kafka(home=tmp_path, settings=SETTINGS)

    def klamm() -> Broker:
        return start_klamm(home=tmp_path, config=tmp_path / KAFKA_CONFIG)

    names: list[str] = []
    starts: list[tuple[str, Callable[[], Broker]]] = [
        ("kafka", kafka),
        ("klamm", klamm),
        ("kafka-again", kafka),
    ]
    for name, start in starts:
        broker = start()
        try:
            expected = {(each, pattern, p) for each in names for pattern in (3, 4) for p in (2, 3)}
            eventually(lambda: _assert_found(broker.address, expected))  # noqa: B023
            _create(broker.address, name)
            names.append(name)
        finally:
            broker.stop(keep=True)


def _assert_found(address: str, expected: set[tuple[str, int, int]]) -> None:
    assert _found(address) == expected
