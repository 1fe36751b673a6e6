"""`klamm acl delete`: take rules away."""

from __future__ import annotations

from typing import Annotated

import typer

from klamm.base.acl import AclOperation, AclPermission, PatternType
from klamm.cli.acl.arguments import (
    Group,
    Host,
    OfCluster,
    Principal,
    Token,
    Topic,
    TransactionalId,
    User,
    full_name,
    operation_of,
    resource_of,
    rows,
)
from klamm.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, Cluster, Output, Properties
from klamm.cli.output import UsageError, show
from klamm.client.admin.acls import AclAdmin, AclFilter


def delete(
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    delegation_token: Token = None,
    user: User = None,
    of_cluster: OfCluster = False,
    prefix: Annotated[
        bool, typer.Option("--prefix", help="The rule for names that begin so, not for the name.")
    ] = False,
    principal: Principal = None,
    operation: Annotated[
        str | None, typer.Option("--operation", metavar="OPERATION", help="Only this one.")
    ] = None,
    host: Host = None,
    denials: Annotated[
        bool | None, typer.Option("--denials/--permissions", help="Only those that deny, or allow.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every rule there is.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Delete the rules of a resource, of a user, or both; prints those that are gone."""
    resource = resource_of(
        topic=topic,
        group=group,
        transactional_id=transactional_id,
        token=delegation_token,
        user=user,
        cluster=of_cluster,
    )
    if resource is None and principal is None and not everything:
        raise UsageError(
            "that would delete every rule", hint="name a resource or --principal, or say --all"
        )
    wanted = AclFilter(
        principal=None if principal is None else full_name(principal),
        host=host,
        operation=AclOperation.ANY if operation is None else operation_of(operation),
    )
    if denials is not None:
        permission = AclPermission.DENY if denials else AclPermission.ALLOW
        wanted = wanted._replace(permission=permission)
    if resource is not None:
        pattern = PatternType.PREFIXED if prefix else PatternType.LITERAL
        wanted = wanted._replace(
            resource_type=resource.type, name=resource.name, pattern_type=pattern
        )
    gone = Cluster.at(bootstrap, properties).talk(
        "rules cannot be deleted", lambda connections: AclAdmin(connections).delete(wanted)
    )
    show(rows(gone), output)
