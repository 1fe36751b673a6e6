"""`klamm quota set`: how much somebody may ask for from now on."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from klamm.cli.connect import DEFAULT_BOOTSTRAP, Bootstrap, Cluster, Output, Properties
from klamm.cli.output import UsageError, show
from klamm.cli.quota.entity import Address, ClientId, User, alter, entity_of, shown
from klamm.protocol.messages.alter_client_quotas import OpData


def set_quotas(
    quotas: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY=VALUE...",
            help="producer_byte_rate, consumer_byte_rate, request_percentage, controller_mutation_rate; "
            "of an address connection_creation_rate.",
        ),
    ],
    user: User = None,
    client_id: ClientId = None,
    ip: Address = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Say how much a user, a client id, both together or an address may ask for."""
    entity = entity_of(user, client_id, ip)
    ops = [_op(text) for text in quotas]
    alter(Cluster.at(bootstrap, properties), "the quota was not set", entity, ops)
    show([{**shown(entity), **{op.key: op.value for op in ops}}], output)


def _op(text: str) -> OpData:
    key, equals, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not equals or not key or not math.isfinite(number):
        raise UsageError(
            f"{text!r} is no quota", hint="KEY=NUMBER, for example producer_byte_rate=1000000"
        )
    return OpData(key=key[:1000], value=number)
