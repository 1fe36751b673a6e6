"""Which of some rules decides about an action: for those who have the rules as a client sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from klamm.base.acl import AclOperation, AclResourceType
from klamm.base.ids import Uuid
from klamm.metadata.image import AclImage
from klamm.security.acl.standard import StandardAuthorizer
from klamm.security.authorizer import Who

# In the order of AclImage's fields.
Rule = tuple[int, str, int, str, str, int, int]


class Explanation(NamedTuple):
    """The place of the rule that decides, or a reason where none does."""

    is_allowed: bool
    decided_by: int | None
    reason: str


def explain(
    rules: Sequence[Rule],
    who: Who,
    operation: AclOperation,
    resource_type: AclResourceType,
    name: str,
    *,
    allow_if_no_acl_found: bool = False,
) -> Explanation:
    acls = [AclImage(*rule) for rule in rules]
    authorizer = StandardAuthorizer(allow_if_no_acl_found=allow_if_no_acl_found)
    authorizer.follow(
        {Uuid(place.to_bytes(16, "big")): acl for place, acl in enumerate(acls)},
    )
    verdict = authorizer.explain(who, operation, resource_type, name)
    place = None if verdict.acl is None else acls.index(verdict.acl)
    return Explanation(verdict.is_allowed, place, verdict.reason)
