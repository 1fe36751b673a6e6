"""CreateAcls: what is a rule, and what is none."""

from typing import Any

import pytest

from klamm.base.acl import CLUSTER_NAME, AclOperation, AclPermission, AclResourceType, PatternType
from klamm.base.errors import ErrorCode
from klamm.protocol.messages.create_acls import CreateAclsRequest
from server.handlers.acls import a_rule, names_in
from server.running_node import RunningNode
from server.wire_client import WireClient


def test_without_an_authorizer_there_are_no_rules(client: WireClient) -> None:
    (result,) = client.ask(CreateAclsRequest(creations=[a_rule("t")])).results

    assert result.error_code == ErrorCode.SECURITY_DISABLED


def test_a_rule_is_there_when_the_answer_comes(ruler: WireClient, new_name: str) -> None:
    (result,) = ruler.ask(CreateAclsRequest(creations=[a_rule(new_name)])).results

    assert result.error_code == ErrorCode.NONE
    assert names_in(ruler, name=new_name) == {(new_name, PatternType.LITERAL)}


def test_a_rule_that_is_there_is_made_no_second_time(
    ruler: WireClient, ruled_node: RunningNode, new_name: str
) -> None:
    twice = CreateAclsRequest(creations=[a_rule(new_name), a_rule(new_name)])

    for _ in range(2):
        assert [each.error_code for each in ruler.ask(twice).results] == [0, 0]
    acls = ruled_node.call(lambda: list(ruled_node.node.broker.image.acls.values()))
    assert [acl.resource_name for acl in acls].count(new_name) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"resource_type": AclResourceType.CLUSTER},
        {"resource_type": AclResourceType.ANY},
        {"resource_name": ""},
        {"resource_pattern_type": PatternType.MATCH},
        {"resource_pattern_type": PatternType.ANY},
        {"operation": AclOperation.ANY},
        {"permission_type": AclPermission.ANY},
        {"principal": "ann"},
        {"principal": ""},
        {"host": "10.0.0.1/99"},
    ],
    ids=str,
)
def test_what_is_no_rule_is_refused_and_the_others_are_made(
    ruler: WireClient, new_name: str, wrong: dict[str, Any]
) -> None:
    name = wrong.pop("resource_name", new_name)
    request = CreateAclsRequest(creations=[a_rule(name, **wrong), a_rule(f"{new_name}-fine")])

    assert [each.error_code for each in ruler.ask(request).results] == [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NONE,
    ]


def test_the_cluster_has_one_name(ruler: WireClient) -> None:
    rule = a_rule(CLUSTER_NAME, resource_type=AclResourceType.CLUSTER)

    (result,) = ruler.ask(CreateAclsRequest(creations=[rule])).results

    assert result.error_code == ErrorCode.NONE


def test_rules_are_there_after_a_restart(tmp_path: Any) -> None:
    settings: dict[str, object] = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with RunningNode(tmp_path, settings) as node, WireClient(node.address) as client:
        client.ask(CreateAclsRequest(creations=[a_rule("kept")]))

    with RunningNode(tmp_path, settings) as node, WireClient(node.address) as client:
        assert names_in(client) == {("kept", PatternType.LITERAL)}
