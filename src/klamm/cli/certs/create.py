"""`klamm certs create`: an authority in a folder, and certificates that it signs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from klamm.cli.certs.folder import make
from klamm.cli.connect import Output
from klamm.cli.output import CommandError, UsageError, show

_LONGEST_HOST = 253


def create(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Brokers and users; `broker` and `client` if none."
        ),
    ] = None,
    directory: Annotated[
        Path,
        typer.Option("--dir", "-d", help="Where the files go; an authority that is there signs."),
    ] = Path("certs"),
    hosts: Annotated[
        list[str] | None,
        typer.Option("--host", metavar="HOST", help="A name or address of a broker; repeatable."),
    ] = None,
    password: Annotated[
        str | None,
        typer.Option(
            "--password", envvar="KLAMM_STORE_PASSWORD", help="Write PKCS12 stores with it as well."
        ),
    ] = None,
    output: Output = None,
) -> None:
    """An authority (ca.pem, ca.key) and a key store NAME.pem for each name, good for brokers and clients.

    For development. Whoever has ca.key can make certificates that the cluster believes.
    """
    for host in hosts or ():
        if not host.isascii() or not host.strip() or len(host) > _LONGEST_HOST:
            raise UsageError(
                f"{host[:60]!r} is not the name of a host",
                hint="names with other signs than those of ASCII are written as xn--...",
            )
    try:
        made = make(directory, names or ["broker", "client"], hosts=hosts or (), password=password)
    except OSError as e:
        raise CommandError(f"cannot write {e.filename or directory}: {e.strerror}") from e
    show(({"name": name, "file": str(file)} for name, file in made), output)
