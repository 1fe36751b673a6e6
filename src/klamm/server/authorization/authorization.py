"""Authorization: a node's authorizer, the rules of the metadata log that it follows, and who is told of a denial.

Until the node has read the metadata log nobody knows the rules: then only what needs none of them is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from klamm.base.acl import OPERATIONS, AclResourceType
from klamm.metadata.delta import Delta
from klamm.metadata.image import ClusterImage
from klamm.security.authorizer import Authorizer, Who
from klamm.server.authorization.audit import Audit
from klamm.server.authorization.grants import Grants
from klamm.server.authorization.rights import Right, right

if TYPE_CHECKING:
    from klamm.server.call import Call
    from klamm.server.network.connection import Connection


class Authorization:
    def __init__(self, authorizer: Authorizer, audit: Audit | None) -> None:
        self.authorizer = authorizer
        self._audit = audit
        self._is_loaded = False

    def load(self, image: ClusterImage) -> None:
        """The image has all that is committed: from now on the rules count."""
        self._is_loaded = True
        self.authorizer.follow(image.acls)

    def follow(self, image: ClusterImage, delta: Delta) -> None:
        if self._is_loaded and "acls" in delta.others:
            self.authorizer.follow(image.acls)

    # -- one right --------------------------------------------------------------------------------------------------

    def permits(self, connection: Connection, asked: Right, name: str) -> bool:
        """For the straight paths: whoever is denied takes the long way, where it is said and noted."""
        grants = connection.grants
        if grants is None or grants.principal is not connection.principal:
            grants = connection.grants = Grants(
                self.authorizer, connection.principal, connection.peer_host
            )
        elif grants.generation == self.authorizer.generation:
            # As nearly always, on the way of every small produce.
            found = grants.known.get((asked.code, name))
            if found is not None:
                return found
        return grants.has(asked, name)

    def allows(self, call: Call, asked: Right, name: str, *, quietly: bool = False) -> bool:
        if call.principal is call.connection.principal:
            is_allowed = self.permits(call.connection, asked, name)
        else:
            # In an envelope: what is known of the connection is about the broker that sent it.
            is_allowed = self.authorizer.authorize(
                _who(call), asked.operation, asked.resource_type, name
            )
        if not is_allowed and not quietly and self._audit is not None:
            self._audit.denied(call, asked, name)
        return is_allowed

    def allows_any(self, call: Call, asked: Right) -> bool:
        """Whether there is any resource of the kind with which it may be done."""
        return self.authorizer.authorize_by_resource_type(
            _who(call), asked.operation, asked.resource_type
        )

    # -- several ------------------------------------------------------------------------------------------------------

    def denied(
        self, call: Call, asked: Right, names: Iterable[str], *, quietly: bool = False
    ) -> frozenset[str]:
        return frozenset(
            name
            for name in dict.fromkeys(names)
            if not self.allows(call, asked, name, quietly=quietly)
        )

    def seer(self, call: Call, asked: Right) -> Callable[[str], bool]:
        authorizer, who = self.authorizer, _who(call)
        return lambda name: authorizer.authorize(who, asked.operation, asked.resource_type, name)

    def operations(self, call: Call, resource_type: AclResourceType, name: str) -> int:
        """The bit field of all that may be done."""
        return sum(
            1 << operation
            for operation in OPERATIONS[resource_type]
            if self.allows(call, right(operation, resource_type), name, quietly=True)
        )


def _who(call: Call) -> Who:
    return Who(call.principal, call.peer_host)
