"""`klamm acl create`: allow or deny users some operations on a resource."""

from __future__ import annotations

from typing import Annotated

import typer

from klamm.base.acl import WILDCARD, AclPermission, PatternType
from klamm.cli.acl.arguments import (
    Group,
    OfCluster,
    Token,
    Topic,
    TransactionalId,
    User,
    full_name,
    needed,
    operation_of,
    resource_of,
    rows,
)
from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    Bootstrap,
    Cluster,
    Output,
    Properties,
    check_names,
)
from klamm.cli.output import UsageError, show
from klamm.client.admin.acls import Acl, AclAdmin


def create(
    operations: Annotated[
        list[str],
        typer.Argument(metavar="OPERATION...", help="read, write, describe, ..., or all."),
    ],
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", "-a", metavar="USER", help="Who may; may be repeated."),
    ] = None,
    deny: Annotated[
        list[str] | None,
        typer.Option("--deny", "-d", metavar="USER", help="Who may not, whatever allows it."),
    ] = None,
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    delegation_token: Token = None,
    user: User = None,
    of_cluster: OfCluster = False,
    prefix: Annotated[
        bool, typer.Option("--prefix", help="All resources whose names begin so.")
    ] = False,
    hosts: Annotated[
        list[str] | None,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Only from there: an address or a network such as 10.0.0.0/8; may be repeated.",
        ),
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Create rules, one for each user, operation and host."""
    resource = needed(
        resource_of(
            topic=topic,
            group=group,
            transactional_id=transactional_id,
            token=delegation_token,
            user=user,
            cluster=of_cluster,
        )
    )
    users = [(full_name(each), AclPermission.ALLOW) for each in allow or ()]
    users += [(full_name(each), AclPermission.DENY) for each in deny or ()]
    if not users:
        raise UsageError("nobody is named", hint="--allow User:ann, or --deny User:ann")
    check_names("host", hosts or ())
    acls = [
        Acl(
            resource.type,
            resource.name,
            PatternType.PREFIXED if prefix else PatternType.LITERAL,
            principal,
            host,
            operation_of(operation),
            permission,
        )
        for principal, permission in users
        for operation in operations
        for host in hosts or [WILDCARD]
    ]
    Cluster.at(bootstrap, properties).talk(
        "rules cannot be created", lambda connections: AclAdmin(connections).create(acls)
    )
    show(rows(acls), output)
