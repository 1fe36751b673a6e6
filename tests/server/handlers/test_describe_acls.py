"""DescribeAcls: what a filter finds."""

import pytest

from klamm.base.acl import AclOperation, AclResourceType, PatternType
from klamm.base.errors import ErrorCode
from klamm.protocol.messages.create_acls import CreateAclsRequest
from klamm.protocol.messages.describe_acls import DescribeAclsRequest
from server.handlers.acls import a_rule, anything, names_in
from server.wire_client import WireClient


def test_without_an_authorizer_there_are_no_rules(client: WireClient) -> None:
    answer = client.ask(DescribeAclsRequest(**anything()))

    assert answer.error_code == ErrorCode.SECURITY_DISABLED


def test_rules_stand_together_by_what_they_are_about(ruler: WireClient, new_name: str) -> None:
    rules = [a_rule(new_name), a_rule(new_name, operation=AclOperation.WRITE)]
    ruler.ask(CreateAclsRequest(creations=rules))

    (found,) = ruler.ask(DescribeAclsRequest(**anything(new_name))).resources

    assert {acl.operation for acl in found.acls} == {AclOperation.READ, AclOperation.WRITE}


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (PatternType.ANY, {"exact"}),
        (PatternType.LITERAL, {"exact"}),
        (PatternType.PREFIXED, set()),
        (PatternType.MATCH, {"exact", "prefix", "star"}),
    ],
)
def test_a_pattern_is_asked_for_by_name_or_by_what_it_covers(
    ruler: WireClient, new_name: str, pattern: PatternType, found: set[str]
) -> None:
    group = {"resource_type": AclResourceType.GROUP}
    rules = [
        a_rule(f"{new_name}-long", **group),
        a_rule(new_name, resource_pattern_type=PatternType.PREFIXED, **group),
        a_rule("*", **group),
    ]
    ruler.ask(CreateAclsRequest(creations=rules))
    labels = {f"{new_name}-long": "exact", new_name: "prefix", "*": "star"}

    names = names_in(
        ruler,
        name=f"{new_name}-long",
        pattern_type_filter=pattern,
        resource_type_filter=AclResourceType.GROUP,
    )

    assert {labels[name] for name, _ in names if name in labels} == found
