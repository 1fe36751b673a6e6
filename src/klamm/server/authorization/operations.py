"""The bit fields of operations that a client may do, as answers carry them. Without an authorizer: all that exist."""

from __future__ import annotations

from klamm.base.acl import OPERATIONS, AclResourceType

# What stands in the field when the client did not ask.
NOT_ASKED = -(2**31)


def all_operations(resource_type: AclResourceType) -> int:
    return sum(1 << operation for operation in OPERATIONS[resource_type])


TOPIC_OPERATIONS = all_operations(AclResourceType.TOPIC)
GROUP_OPERATIONS = all_operations(AclResourceType.GROUP)
CLUSTER_OPERATIONS = all_operations(AclResourceType.CLUSTER)
