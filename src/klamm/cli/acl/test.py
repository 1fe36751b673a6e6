"""`klamm acl test`: may they, and which rule says so."""

from __future__ import annotations

from typing import Annotated

import typer

from klamm.base.principal import KafkaPrincipal
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
    row,
)
from klamm.cli.connect import (
    DEFAULT_BOOTSTRAP,
    Bootstrap,
    Cluster,
    Output,
    Properties,
    check_names,
)
from klamm.cli.output import Row, show
from klamm.client.admin.acls import AclAdmin


def explain(
    user_name: Annotated[str, typer.Argument(metavar="USER", help="User:ann, or ann.")],
    operation: Annotated[str, typer.Argument(metavar="OPERATION", help="read, write, ...")],
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    delegation_token: Token = None,
    user: User = None,
    of_cluster: OfCluster = False,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="From where they ask.")
    ] = "127.0.0.1",
    allow_if_no_acl: Annotated[
        bool,
        typer.Option(
            "--allow-if-no-acl", help="As brokers with allow.everyone.if.no.acl.found=true do."
        ),
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Say whether a user may do something, and which rule decides. Leaves with 1 if not.

    Who the super users are (super.users) the cluster does not tell: they may do everything.
    """
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
    check_names("host", [host])
    kind, _, name = full_name(user_name).partition(":")
    wanted = operation_of(operation)
    decision = Cluster.at(bootstrap, properties).talk(
        "rules cannot be listed",
        lambda connections: AclAdmin(connections).test(
            KafkaPrincipal(kind, name),
            wanted,
            resource.type,
            resource.name,
            host=host,
            allow_if_no_acl_found=allow_if_no_acl,
        ),
    )
    found: Row = {"allowed": decision.is_allowed, "because": decision.reason or "of this rule"}
    if decision.acl is not None:
        found = {**found, **row(decision.acl)}
    show([found], output)
    if not decision.is_allowed:
        raise typer.Exit(1)
