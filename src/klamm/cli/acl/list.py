"""`klamm acl list`: the rules, all or some."""

from __future__ import annotations

from typing import Annotated

import typer

from klamm.base.acl import PatternType
from klamm.cli.acl.arguments import (
    Group,
    OfCluster,
    Principal,
    Token,
    Topic,
    TransactionalId,
    User,
    full_name,
    resource_of,
    rows,
)
from klamm.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, Cluster, Output, Properties
from klamm.cli.output import show
from klamm.client.admin.acls import AclAdmin, AclFilter


def list_acls(
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    delegation_token: Token = None,
    user: User = None,
    of_cluster: OfCluster = False,
    principal: Principal = None,
    matching: Annotated[
        bool,
        typer.Option("--matching", "-m", help="Also prefixes and * that cover the resource."),
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """List rules: all, those of a resource, those of a user."""
    resource = resource_of(
        topic=topic,
        group=group,
        transactional_id=transactional_id,
        token=delegation_token,
        user=user,
        cluster=of_cluster,
    )
    wanted = AclFilter(
        principal=None if principal is None else full_name(principal),
        pattern_type=PatternType.MATCH if matching else PatternType.ANY,
    )
    if resource is not None:
        wanted = wanted._replace(resource_type=resource.type, name=resource.name)
    found = Cluster.at(bootstrap, properties).talk(
        "rules cannot be listed", lambda connections: AclAdmin(connections).list(wanted)
    )
    show(rows(found), output)
