"""StandardAuthorizer: Kafka's rules about rules. Super users may all; a rule that denies wins over those that allow.

Where no rule at all speaks of a resource, allow.everyone.if.no.acl.found decides; where some do, but none of this action, it
is denied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from klamm.base.acl import (
    EVERYBODY,
    IMPLIES,
    WILDCARD,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
)
from klamm.base.host_pattern import covers
from klamm.base.ids import Uuid
from klamm.metadata.image import AclImage
from klamm.security.acl.index import AclIndex
from klamm.security.authorizer import Who

# A name that nobody has: who may do it with this one may do it with any.
_ANY_NAME = "hardcode"


class Verdict(NamedTuple):
    """What was decided, by which rule, or in words if there is none."""

    is_allowed: bool
    acl: AclImage | None = None
    reason: str = ""


_NOT_READ = Verdict(False, None, "the rules have not been read from the metadata log yet")
_SUPER_USER = Verdict(True, None, "a super user may do everything")
_UNSPOKEN = "no rule speaks of this resource"
_NOT_ALLOWED = Verdict(False, None, "rules speak of this resource, but none allows this")


class StandardAuthorizer:
    """Implements Authorizer."""

    def __init__(
        self, super_users: Iterable[str] = (), *, allow_if_no_acl_found: bool = False
    ) -> None:
        self.generation = 0
        self._is_loaded = False
        self.index = AclIndex()
        self._super_users = frozenset(super_users)
        setting = "allow.everyone.if.no.acl.found"
        self._no_acl = Verdict(
            allow_if_no_acl_found,
            None,
            f"{_UNSPOKEN}, and {setting}={'true' if allow_if_no_acl_found else 'false'}",
        )

    def follow(self, acls: Mapping[Uuid, AclImage]) -> None:
        if self.index.follow(acls) or not self._is_loaded:
            self.generation += 1
        self._is_loaded = True

    def authorize(
        self, who: Who, operation: AclOperation, resource_type: AclResourceType, name: str
    ) -> bool:
        return self.explain(who, operation, resource_type, name).is_allowed

    def explain(
        self, who: Who, operation: AclOperation, resource_type: AclResourceType, name: str
    ) -> Verdict:
        principal = str(who.principal)
        if principal in self._super_users:
            return _SUPER_USER
        if not self._is_loaded:
            return _NOT_READ
        is_spoken_of = False
        allowing: AclImage | None = None
        for acl in self.index.about(resource_type, name):
            is_spoken_of = True
            if not applies(acl, principal, who.host, operation):
                continue
            if acl.permission_type == AclPermission.DENY:
                return Verdict(False, acl)
            allowing = allowing or acl
        if allowing is not None:
            return Verdict(True, allowing)
        return _NOT_ALLOWED if is_spoken_of else self._no_acl

    def authorize_by_resource_type(
        self, who: Who, operation: AclOperation, resource_type: AclResourceType
    ) -> bool:
        """A permission counts unless something denies all that it covers."""
        if self.authorize(who, operation, resource_type, _ANY_NAME):
            return True
        principal = str(who.principal)
        allowed: list[AclImage] = []
        denied: set[tuple[int, str]] = set()
        for acl in self.index.of_type(resource_type):
            if acl.operation not in (operation, AclOperation.ALL):
                continue
            if not _is_about(acl, principal, who.host):
                continue
            if acl.permission_type == AclPermission.DENY:
                denied.add((acl.pattern_type, acl.resource_name))
            elif acl.permission_type == AclPermission.ALLOW:
                allowed.append(acl)
        if (PatternType.LITERAL, WILDCARD) in denied:
            return False
        return any(not _is_overruled(acl, denied) for acl in allowed)


def applies(acl: AclImage, principal: str, host: str, operation: AclOperation) -> bool:
    """Whether a rule about the resource speaks of this user, from here, doing that."""
    if not _is_about(acl, principal, host):
        return False
    if acl.operation in (AclOperation.ALL, operation):
        return True
    return acl.permission_type == AclPermission.ALLOW and acl.operation in IMPLIES.get(
        operation, ()
    )


def _is_about(acl: AclImage, principal: str, host: str) -> bool:
    return acl.principal in (principal, EVERYBODY) and covers(acl.host, host)


def _is_overruled(acl: AclImage, denied: set[tuple[int, str]]) -> bool:
    name = acl.resource_name
    if acl.pattern_type == PatternType.LITERAL:
        if name == WILDCARD:
            return False
        if (PatternType.LITERAL, name) in denied:
            return True
    return any((PatternType.PREFIXED, name[:end]) in denied for end in range(1, len(name) + 1))
