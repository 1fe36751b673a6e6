"""A folder of certificates: the authority in ca.pem and ca.key, and a key store for each name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from klamm.cli.certs.authority import Authority, Issued
from klamm.cli.output import CommandError, UsageError

_HOSTS = ("localhost", "127.0.0.1", "::1")
_ONLY_ME = 0o600


def make(
    directory: Path,
    names: Sequence[str],
    *,
    hosts: Iterable[str] = (),
    password: str | None = None,
) -> list[tuple[str, Path]]:
    """The files of each name, and of the authority."""
    for name in names:
        _check_name(name)
    directory.mkdir(parents=True, exist_ok=True)
    authority = _authority(directory)
    made = [
        (name, file)
        for name in names
        for file in _write(
            directory, name, authority.issue(name, hosts=[*_HOSTS, *hosts]), password
        )
    ]
    return [*made, ("authority", directory / "ca.pem")]


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
        # One that was there before may have been open to all.
        os.fchmod(file.fileno(), _ONLY_ME)
        file.write(content)


def _check_name(name: str) -> None:
    if not name or "/" in name or name in (".", "..", "ca") or len(name) > 64:
        raise UsageError(f"{name!r} cannot be the name of a certificate")
