"""Which of the access rules a filter means, as in DescribeAcls and DeleteAcls."""

from __future__ import annotations

from typing import Protocol

from klamm.base.acl import WILDCARD, AclOperation, AclPermission, AclResourceType, PatternType
from klamm.metadata.image import AclImage


class AclFilter(Protocol):
    """None, or ANY, stands for all."""

    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int


def is_unknown(wanted: AclFilter) -> bool:
    """A number in it means nothing to us."""
    return (
        wanted.resource_type_filter not in _RESOURCE_TYPES
        or wanted.pattern_type_filter not in _PATTERN_TYPES
        or wanted.operation not in _OPERATIONS
        or wanted.permission_type not in _PERMISSIONS
    )


_RESOURCE_TYPES = frozenset(AclResourceType) - {AclResourceType.UNKNOWN}
_PATTERN_TYPES = frozenset(PatternType) - {PatternType.UNKNOWN}
_OPERATIONS = frozenset(AclOperation) - {AclOperation.UNKNOWN}
_PERMISSIONS = frozenset(AclPermission) - {AclPermission.UNKNOWN}


def matches(acl: AclImage, wanted: AclFilter) -> bool:
    return (
        wanted.resource_type_filter in (AclResourceType.ANY, acl.resource_type)
        and wanted.operation in (AclOperation.ANY, acl.operation)
        and wanted.permission_type in (AclPermission.ANY, acl.permission_type)
        and wanted.principal_filter in (None, acl.principal)
        and wanted.host_filter in (None, acl.host)
        and _matches_pattern(acl, wanted)
    )


def _matches_pattern(acl: AclImage, wanted: AclFilter) -> bool:
    name = wanted.resource_name_filter
    kind = wanted.pattern_type_filter
    if kind != PatternType.MATCH:
        return kind in (PatternType.ANY, acl.pattern_type) and name in (None, acl.resource_name)
    if name is None:
        return True
    if acl.pattern_type == PatternType.PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in (name, WILDCARD)
