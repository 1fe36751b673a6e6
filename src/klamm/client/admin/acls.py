"""Access rules: list, create, delete, and ask which of them decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple, TypeVar

from klamm.base.acl import AclOperation, AclPermission, AclResourceType, PatternType
from klamm.base.principal import KafkaPrincipal
from klamm.client.cluster import Cluster
from klamm.client.errors import check
from klamm.protocol.messages.create_acls import (
    AclCreation,
    CreateAclsRequest,
    CreateAclsResponse,
)
from klamm.protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from klamm.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from klamm.security.acl.explanation import explain
from klamm.security.authorizer import Who

E = TypeVar("E", bound=IntEnum)


class Acl(NamedTuple):
    """Who may, or may not, do what with which resources, from where."""

    resource_type: AclResourceType
    name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: AclOperation
    permission: AclPermission


class AclFilter(NamedTuple):
    """None, or ANY, stands for all."""

    resource_type: AclResourceType = AclResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission: AclPermission = AclPermission.ANY


EVERYTHING = AclFilter()


class Decision(NamedTuple):
    """By a rule, or for a reason where there is none."""

    is_allowed: bool
    acl: Acl | None
    reason: str


class AclAdmin:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def list(self, wanted: AclFilter = EVERYTHING) -> Sequence[Acl]:
        async def attempt() -> Sequence[Acl]:
            answer = await self._cluster.ask_any(_describe(wanted), DescribeAclsResponse)
            check(answer.error_code, answer.error_message)
            return sorted(
                _acl(
                    resource.resource_type,
                    resource.resource_name,
                    resource.pattern_type,
                    each.principal,
                    each.host,
                    each.operation,
                    each.permission_type,
                )
                for resource in answer.resources
                for each in resource.acls
            )

        return await self._cluster.persist(attempt)

    async def create(self, acls: Iterable[Acl]) -> None:
        """A rule that is there already is fine."""
        request = CreateAclsRequest(
            creations=[
                AclCreation(
                    resource_type=each.resource_type,
                    resource_name=each.name,
                    resource_pattern_type=each.pattern_type,
                    principal=each.principal,
                    host=each.host,
                    operation=each.operation,
                    permission_type=each.permission,
                )
                for each in acls
            ]
        )

        async def attempt() -> None:
            answer = await self._cluster.ask_any(request, CreateAclsResponse)
            for result in answer.results:
                check(result.error_code, result.error_message)

        await self._cluster.persist(attempt)

    async def delete(self, wanted: AclFilter) -> Sequence[Acl]:
        """Those that are gone now."""
        described = _describe(wanted)
        request = DeleteAclsRequest(
            filters=[
                DeleteAclsFilter(
                    resource_type_filter=described.resource_type_filter,
                    resource_name_filter=described.resource_name_filter,
                    pattern_type_filter=described.pattern_type_filter,
                    principal_filter=described.principal_filter,
                    host_filter=described.host_filter,
                    operation=described.operation,
                    permission_type=described.permission_type,
                )
            ]
        )

        async def attempt() -> Sequence[Acl]:
            answer = await self._cluster.ask_any(request, DeleteAclsResponse)
            (result,) = answer.filter_results
            check(result.error_code, result.error_message)
            return sorted(
                _acl(
                    each.resource_type,
                    each.resource_name,
                    each.pattern_type,
                    each.principal,
                    each.host,
                    each.operation,
                    each.permission_type,
                )
                for each in result.matching_acls
            )

        return await self._cluster.persist(attempt)

    async def test(
        self,
        principal: KafkaPrincipal,
        operation: AclOperation,
        resource_type: AclResourceType,
        name: str,
        *,
        host: str,
        allow_if_no_acl_found: bool = False,
    ) -> Decision:
        """What the rules of the cluster say; who its super users are it tells nobody."""
        acls = await self.list()
        found = explain(
            acls,
            Who(principal, host),
            operation,
            resource_type,
            name,
            allow_if_no_acl_found=allow_if_no_acl_found,
        )
        decided_by = None if found.decided_by is None else acls[found.decided_by]
        return Decision(found.is_allowed, decided_by, found.reason)


def _describe(wanted: AclFilter) -> DescribeAclsRequest:
    return DescribeAclsRequest(
        resource_type_filter=wanted.resource_type,
        resource_name_filter=wanted.name,
        pattern_type_filter=wanted.pattern_type,
        principal_filter=wanted.principal,
        host_filter=wanted.host,
        operation=wanted.operation,
        permission_type=wanted.permission,
    )


def _acl(
    resource_type: int,
    name: str,
    pattern_type: int,
    principal: str,
    host: str,
    operation: int,
    permission: int,
) -> Acl:
    """A number of a newer Kafka stands as UNKNOWN."""
    return Acl(
        _known(AclResourceType, resource_type),
        name,
        _known(PatternType, pattern_type),
        principal,
        host,
        _known(AclOperation, operation),
        _known(AclPermission, permission),
    )


def _known(kind: type[E], number: int) -> E:
    try:
        return kind(number)
    except ValueError:
        return kind(0)
