"""`klamm quota remove`: somebody may ask for as much as others."""

from __future__ import annotations

from typing import Annotated

import typer

from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    Bootstrap,
    Cluster,
    Output,
    Properties,
    check_names,
)
from klamm.cli.output import show
from klamm.cli.quota.entity import Address, ClientId, User, alter, entity_of, shown
from klamm.protocol.messages.alter_client_quotas import OpData


def remove(
    keys: Annotated[list[str], typer.Argument(metavar="KEY...", help="As in `quota set`.")],
    user: User = None,
    client_id: ClientId = None,
    ip: Address = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Remove quotas of a user, a client id, both together or an address."""
    check_names("quota", keys)
    entity = entity_of(user, client_id, ip)
    ops = [OpData(key=key, remove=True) for key in keys]
    alter(Cluster.at(bootstrap, properties), "the quota was not removed", entity, ops)
    show([{**shown(entity), "removed": ",".join(keys)}], output)
