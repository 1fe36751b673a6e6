"""Short ways to write access rules and filters."""

from typing import Any

from klamm.base.acl import AclOperation, AclPermission, AclResourceType, PatternType
from klamm.protocol.messages.create_acls import AclCreation
from klamm.protocol.messages.describe_acls import DescribeAclsRequest


def a_rule(name: str, **more: Any) -> AclCreation:
    """ann may read a topic from anywhere, unless something else is said."""
    return AclCreation(
        **{
            "resource_type": AclResourceType.TOPIC,
            "resource_name": name,
            "resource_pattern_type": PatternType.LITERAL,
            "principal": "User:ann",
            "host": "*",
            "operation": AclOperation.READ,
            "permission_type": AclPermission.ALLOW,
            **more,
        }
    )


def anything(name: str | None = None, **more: Any) -> dict[str, Any]:
    """The fields of a filter that lets everything pass."""
    return {
        "resource_type_filter": AclResourceType.ANY,
        "resource_name_filter": name,
        "pattern_type_filter": PatternType.ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": AclOperation.ANY,
        "permission_type": AclPermission.ANY,
        **more,
    }


def names_in(client: Any, **wanted: Any) -> set[tuple[str, int]]:
    """The patterns of the rules that a filter finds."""
    answer = client.ask(DescribeAclsRequest(**anything(**wanted)))
    assert answer.error_code == 0
    return {(each.resource_name, each.pattern_type) for each in answer.resources}
