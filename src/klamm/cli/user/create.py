"""`klamm user create`: a user that logs in by SCRAM, or a new password for one."""

from __future__ import annotations

import sys
from random import SystemRandom
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
from klamm.cli.output import UsageError, show
from klamm.cli.user.alter import alter
from klamm.cli.user.mechanism import DEFAULT, Mechanism, find
from klamm.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from klamm.security.sasl.scram import salted_password

_SALT_BYTES = 24
_LONGEST_PASSWORD = 1024


def create(
    user: Annotated[str, typer.Argument(help="The name to log in with.")],
    password: Annotated[
        str | None,
        typer.Option(
            "--password", "-p", help="Others can see it in the list of processes; better asked for."
        ),
    ] = None,
    mechanism: Mechanism = DEFAULT,
    iterations: Annotated[
        int | None, typer.Option("--iterations", min=4096, max=16_384, help="4096 if not given.")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Create a user that logs in by SCRAM, or give one a new password.

    Without --password it is asked for on a terminal, or is the first line of stdin.
    """
    check_names("user", [user])
    scram = find(mechanism)
    secret = _asked_for(user) if password is None else password
    if not secret or len(secret.encode(errors="replace")) > _LONGEST_PASSWORD:
        raise UsageError("a password has 1 to 1024 bytes")
    rounds = iterations or scram.min_iterations
    salt = SystemRandom().randbytes(_SALT_BYTES)
    upsertion = ScramCredentialUpsertion(
        name=user,
        mechanism=scram.number,
        iterations=rounds,
        salt=salt,
        salted_password=salted_password(scram, secret, salt, rounds),
    )
    alter(
        Cluster.at(bootstrap, properties),
        f"the user {user} was not created",
        AlterUserScramCredentialsRequest(upsertions=[upsertion]),
    )
    show([{"user": user, "mechanism": scram.name, "iterations": rounds}], output)


def _asked_for(user: str) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    return str(
        typer.prompt(f"password of {user}", hide_input=True, confirmation_prompt=True, err=True)
    )
