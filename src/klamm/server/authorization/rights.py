"""The rights that handlers ask for, each with the error of whoever does not have it."""

from __future__ import annotations

from typing import NamedTuple

from klamm.base.acl import AclOperation, AclResourceType
from klamm.base.errors import ErrorCode


class Right(NamedTuple):
    """An operation on a kind of resource. `code` is a plain number: to look one up by it is cheap."""

    operation: AclOperation
    resource_type: AclResourceType
    error: ErrorCode
    code: int

    def __str__(self) -> str:
        return f"{self.operation.name} on {self.resource_type.name}"


_ERRORS = {
    AclResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    AclResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    AclResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    AclResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    AclResourceType.DELEGATION_TOKEN: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    AclResourceType.USER: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}


def right(operation: AclOperation, resource_type: AclResourceType) -> Right:
    return Right(
        operation, resource_type, _ERRORS[resource_type], int(resource_type) << 8 | int(operation)
    )


_TOPIC, _GROUP, _CLUSTER = AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.CLUSTER
_TRANSACTION = AclResourceType.TRANSACTIONAL_ID

READ_TOPIC = right(AclOperation.READ, _TOPIC)
WRITE_TOPIC = right(AclOperation.WRITE, _TOPIC)
CREATE_TOPIC = right(AclOperation.CREATE, _TOPIC)
DELETE_TOPIC = right(AclOperation.DELETE, _TOPIC)
ALTER_TOPIC = right(AclOperation.ALTER, _TOPIC)
DESCRIBE_TOPIC = right(AclOperation.DESCRIBE, _TOPIC)
DESCRIBE_TOPIC_CONFIGS = right(AclOperation.DESCRIBE_CONFIGS, _TOPIC)
ALTER_TOPIC_CONFIGS = right(AclOperation.ALTER_CONFIGS, _TOPIC)

READ_GROUP = right(AclOperation.READ, _GROUP)
DELETE_GROUP = right(AclOperation.DELETE, _GROUP)
DESCRIBE_GROUP = right(AclOperation.DESCRIBE, _GROUP)
DESCRIBE_GROUP_CONFIGS = right(AclOperation.DESCRIBE_CONFIGS, _GROUP)
ALTER_GROUP_CONFIGS = right(AclOperation.ALTER_CONFIGS, _GROUP)

WRITE_TRANSACTIONAL_ID = right(AclOperation.WRITE, _TRANSACTION)
DESCRIBE_TRANSACTIONAL_ID = right(AclOperation.DESCRIBE, _TRANSACTION)

CREATE_CLUSTER = right(AclOperation.CREATE, _CLUSTER)
DELETE_CLUSTER = right(AclOperation.DELETE, _CLUSTER)
ALTER_CLUSTER = right(AclOperation.ALTER, _CLUSTER)
DESCRIBE_CLUSTER = right(AclOperation.DESCRIBE, _CLUSTER)
DESCRIBE_CLUSTER_CONFIGS = right(AclOperation.DESCRIBE_CONFIGS, _CLUSTER)
ALTER_CLUSTER_CONFIGS = right(AclOperation.ALTER_CONFIGS, _CLUSTER)
IDEMPOTENT_WRITE = right(AclOperation.IDEMPOTENT_WRITE, _CLUSTER)
# What brokers and controllers may do among themselves.
CLUSTER_ACTION = right(AclOperation.CLUSTER_ACTION, _CLUSTER)

DESCRIBE_TOKEN = right(AclOperation.DESCRIBE, AclResourceType.DELEGATION_TOKEN)
CREATE_TOKENS = right(AclOperation.CREATE_TOKENS, AclResourceType.USER)
DESCRIBE_TOKENS = right(AclOperation.DESCRIBE_TOKENS, AclResourceType.USER)
