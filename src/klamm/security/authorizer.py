"""Authorizer: the port through which a node asks whether somebody may do something."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from klamm.base.acl import AclOperation, AclResourceType
from klamm.base.ids import Uuid
from klamm.base.principal import KafkaPrincipal
from klamm.metadata.image import AclImage


class Who(NamedTuple):
    """Whoever asks, and the address they ask from."""

    principal: KafkaPrincipal
    host: str


class Authorizer(Protocol):
    """An answer may be kept until `generation` is another number: whoever changes their mind raises it."""

    generation: int

    def authorize(
        self, who: Who, operation: AclOperation, resource_type: AclResourceType, name: str
    ) -> bool: ...

    def authorize_by_resource_type(
        self, who: Who, operation: AclOperation, resource_type: AclResourceType
    ) -> bool:
        """Whether there is any resource of the type with which it may be done."""
        ...

    def follow(self, acls: Mapping[Uuid, AclImage]) -> None:
        """The rules in the metadata log are these from now on."""
        ...
