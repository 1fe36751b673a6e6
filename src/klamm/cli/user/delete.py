"""`klamm user delete`: a user logs in by this mechanism no more. Who is in stays in."""

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
from klamm.cli.user.alter import alter
from klamm.cli.user.mechanism import DEFAULT, Mechanism, find
from klamm.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)


def delete(
    user: Annotated[str, typer.Argument(help="The name of the user.")],
    mechanism: Mechanism = DEFAULT,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Delete what a user logs in with by one mechanism."""
    check_names("user", [user])
    scram = find(mechanism)
    deletion = ScramCredentialDeletion(name=user, mechanism=scram.number)
    alter(
        Cluster.at(bootstrap, properties),
        f"the user {user} was not deleted",
        AlterUserScramCredentialsRequest(deletions=[deletion]),
    )
    show([{"user": user, "mechanism": scram.name, "deleted": True}], output)
