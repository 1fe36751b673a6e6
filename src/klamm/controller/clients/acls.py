"""Access rules: CreateAcls, DeleteAcls. Each rule, and each filter, of a request stands for itself."""

from __future__ import annotations

from klamm.base.acl import (
    CLUSTER_NAME,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
)
from klamm.base.chance import random_uuid
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.host_pattern import network_of
from klamm.base.ids import Uuid
from klamm.controller.decision import Context, Decision
from klamm.metadata.acl_filter import is_unknown, matches
from klamm.metadata.image import AclImage
from klamm.metadata.records.security import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
)
from klamm.protocol.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from klamm.protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)

# What one request may change.
_MAX_RECORDS = 10_000
_RESOURCE_TYPES = frozenset(AclResourceType) - {AclResourceType.UNKNOWN, AclResourceType.ANY}
_OPERATIONS = frozenset(AclOperation) - {AclOperation.UNKNOWN, AclOperation.ANY}


def create(context: Context, request: CreateAclsRequest) -> Decision[CreateAclsResponse]:
    """A rule that is there already is made no second time, and that is fine."""
    known = set(context.image.acls.values())
    results: list[AclCreationResult] = []
    records: list[AccessControlEntryRecord] = []
    for creation in request.creations:
        try:
            acl = _checked(creation)
        except ApiError as e:
            results.append(AclCreationResult(error_code=e.code, error_message=e.message))
            continue
        results.append(AclCreationResult(error_message=None))
        if acl not in known:
            known.add(acl)
            records.append(_record(random_uuid(context.chance), acl))
    _check_count(len(records))
    return Decision(CreateAclsResponse(results=results), records)


def delete(context: Context, request: DeleteAclsRequest) -> Decision[DeleteAclsResponse]:
    results: list[DeleteAclsFilterResult] = []
    deleted: dict[Uuid, None] = {}
    for wanted in request.filters:
        if is_unknown(wanted):
            error = ErrorCode.INVALID_REQUEST
            results.append(
                DeleteAclsFilterResult(error_code=error, error_message="Unknown filter.")
            )
            continue
        found = _found(context, wanted)
        deleted.update(dict.fromkeys(found))
        _check_count(len(deleted))
        results.append(
            DeleteAclsFilterResult(
                error_message=None, matching_acls=[_matching(acl) for acl in found.values()]
            )
        )
    records = [RemoveAccessControlEntryRecord(id=acl_id) for acl_id in deleted]
    return Decision(DeleteAclsResponse(filter_results=results), records)


def _checked(creation: AclCreation) -> AclImage:
    kind, name = creation.resource_type, creation.resource_name
    if kind == AclResourceType.CLUSTER and name != CLUSTER_NAME:
        raise _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not name:
        raise _invalid("Invalid empty resource name")
    if kind not in _RESOURCE_TYPES:
        raise _invalid(f"Invalid resourceType {kind}")
    if creation.resource_pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise _invalid(f"Invalid patternType {creation.resource_pattern_type}")
    if creation.operation not in _OPERATIONS:
        raise _invalid(f"Invalid operation {creation.operation}")
    if creation.permission_type not in (AclPermission.DENY, AclPermission.ALLOW):
        raise _invalid(f"Invalid permissionType {creation.permission_type}")
    if ":" not in creation.principal:
        raise _invalid(f"Could not parse principal from `{creation.principal}`")
    if "/" in creation.host and network_of(creation.host) is None:
        # Deviation: Kafka 4.3 takes it, and then it covers nobody: a denial that never denies.
        raise _invalid(f"Invalid CIDR notation {creation.host}")
    return AclImage(
        kind,
        name,
        creation.resource_pattern_type,
        creation.principal,
        creation.host,
        creation.operation,
        creation.permission_type,
    )


def _invalid(text: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, text)


def _found(context: Context, wanted: DeleteAclsFilter) -> dict[Uuid, AclImage]:
    return {acl_id: acl for acl_id, acl in context.image.acls.items() if matches(acl, wanted)}


def _check_count(records: int) -> None:
    if records > _MAX_RECORDS:
        text = "Unable to perform excessively large batch operation."
        raise ApiError(ErrorCode.POLICY_VIOLATION, text)


def _record(acl_id: Uuid, acl: AclImage) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=acl_id,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )


def _matching(acl: AclImage) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )
