"""The words of access rules, by Kafka's numbers: what is guarded, what is done with it, and whether it may be."""

from __future__ import annotations

from enum import IntEnum
from types import MappingProxyType

# The only resource of the type CLUSTER; and what stands for all names, hosts or users.
CLUSTER_NAME = "kafka-cluster"
WILDCARD = "*"
EVERYBODY = "User:*"


class AclResourceType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """ANY and MATCH are for questions: any pattern of that name, and any that covers it."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(IntEnum):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclPermission(IntEnum):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


_Op = AclOperation
# Whoever may do one of these may also look. It is so for permissions only: to forbid reading does not forbid to look.
IMPLIES = MappingProxyType(
    {
        _Op.DESCRIBE: frozenset((_Op.DESCRIBE, _Op.READ, _Op.WRITE, _Op.DELETE, _Op.ALTER)),
        _Op.DESCRIBE_CONFIGS: frozenset((_Op.DESCRIBE_CONFIGS, _Op.ALTER_CONFIGS)),
    }
)
# What can be done with each, as clients are told it in their answers' bit fields.
OPERATIONS = MappingProxyType(
    {
        AclResourceType.TOPIC: (
            _Op.READ,
            _Op.WRITE,
            _Op.CREATE,
            _Op.DELETE,
            _Op.ALTER,
            _Op.DESCRIBE,
            _Op.DESCRIBE_CONFIGS,
            _Op.ALTER_CONFIGS,
        ),
        AclResourceType.GROUP: (
            _Op.READ,
            _Op.DELETE,
            _Op.DESCRIBE,
            _Op.DESCRIBE_CONFIGS,
            _Op.ALTER_CONFIGS,
        ),
        AclResourceType.CLUSTER: (
            _Op.CREATE,
            _Op.ALTER,
            _Op.DESCRIBE,
            _Op.CLUSTER_ACTION,
            _Op.DESCRIBE_CONFIGS,
            _Op.ALTER_CONFIGS,
            _Op.IDEMPOTENT_WRITE,
        ),
        AclResourceType.TRANSACTIONAL_ID: (_Op.WRITE, _Op.DESCRIBE, _Op.TWO_PHASE_COMMIT),
        AclResourceType.DELEGATION_TOKEN: (_Op.DESCRIBE,),
        AclResourceType.USER: (_Op.CREATE_TOKENS, _Op.DESCRIBE_TOKENS),
    }
)
