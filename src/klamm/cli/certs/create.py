"""`klamm certs create`: an authority in a folder, and certificates that it signs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from klamm.cli.certs.authority import Authority, Issued
from klamm.cli.connect import Output
from klamm.cli.output import CommandError, UsageError, show

_HOSTS = ("localhost", "127.0.0.1", "::1")
_ONLY_ME = 0o600


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
    try:
        directory.mkdir(parents=True, exist_ok=True)
        authority = _authority(directory)
        rows = []
        for name in names or ["broker", "client"]:
            _check_name(name)
            issued = authority.issue(name, hosts=[*_HOSTS, *(hosts or ())])
            rows += [
                {"name": name, "file": str(each)}
                for each in _write(directory, name, issued, password)
            ]
    except OSError as e:
        raise CommandError(f"cannot write {e.filename or directory}: {e.strerror}") from e
    rows.append({"name": "authority", "file": str(directory / "ca.pem")})
    show(rows, output)


def broker_settings(directory: Path, name: str) -> dict[str, str]:
    """A listener with the files of this folder."""
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(directory / f"{name}.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(directory / "ca.pem"),
    }


def _authority(directory: Path) -> Authority:
    key, certificate = directory / "ca.key", directory / "ca.pem"
    if key.exists() and certificate.exists():
        try:
            return Authority.load(key.read_bytes(), certificate.read_bytes())
        except ValueError as e:
            raise CommandError(f"{key} is no authority of klamm certs", why=str(e)) from e
    if key.exists() or certificate.exists():
        raise CommandError(
            f"{directory} has one of ca.key and ca.pem", hint="name another folder with --dir"
        )
    authority = Authority.create()
    _write_file(key, authority.key_pem())
    certificate.write_bytes(authority.certificate_pem())
    return authority


def _write(directory: Path, name: str, issued: Issued, password: str | None) -> list[Path]:
    """The store, and its parts for clients that want them apart."""
    contents = {
        f"{name}.pem": issued.store_pem(),
        f"{name}.key": issued.key_pem(),
        f"{name}.crt": issued.certificate_pem(),
    }
    if password is not None:
        contents[f"{name}.p12"] = issued.store_pkcs12(password)
    for file, content in contents.items():
        _write_file(directory / file, content)
    return [directory / file for file in contents]


def _write_file(path: Path, content: bytes) -> None:
    """Whoever reads a key is who it names."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _ONLY_ME), "wb") as file:
        file.write(content)


def _check_name(name: str) -> None:
    if not name or "/" in name or name in (".", "..", "ca") or len(name) > 64:
        raise UsageError(f"{name!r} cannot be the name of a certificate")
