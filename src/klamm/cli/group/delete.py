"""`klamm group delete`: groups without members, with all their offsets."""

from __future__ import annotations

from typing import Annotated

import typer

from klamm.cli.connect import (
    ANSWER_TIMEOUT_S,
    DEFAULT_BOOTSTRAP,
    Bootstrap,
    Cluster,
    Output,
    Properties,
    answer,
    check_names,
    kafka_error,
)
from klamm.cli.group.arguments import Groups
from klamm.cli.output import (
    CommandError,
    Row,
    complain,
    show,
)


def delete(
    names: Groups,
    if_exists: Annotated[
        bool, typer.Option("--if-exists", help="A group that is not there is fine.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    output: Output = None,
) -> None:
    """Delete groups without members, with all their offsets."""
    check_names("group", names, may_be_empty=True)
    admin = Cluster.at(bootstrap, properties).admin()
    futures = admin.delete_consumer_groups(
        list(dict.fromkeys(names)), request_timeout=ANSWER_TIMEOUT_S
    )
    rows: list[Row] = []
    for name, future in futures.items():
        try:
            answer(future, f"group {name} was not deleted")
            rows.append({"group": name, "deleted": True})
        except CommandError as failure:
            error = kafka_error(failure)
            if if_exists and error is not None and error.name() == "GROUP_ID_NOT_FOUND":
                rows.append({"group": name, "deleted": False})
            else:
                complain(failure)
    show(rows, output)
    if len(rows) < len(futures):
        raise typer.Exit(1)
