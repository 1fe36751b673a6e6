"""`klamm serve --secure`: certificates, a user and the settings of both sides, in a folder beside the data."""

from __future__ import annotations

import io
import json
import os
import secrets
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from klamm.cli.output import UsageError

USER = "admin"
_MECHANISM = "SCRAM-SHA-512"
_BROKER = "broker"


@dataclass(frozen=True, slots=True)
class SecureFolder:
    path: Path
    password: str

    @property
    def client_file(self) -> Path:
        return self.path / "client.properties"

    def overrides(self) -> list[str]:
        """Settings of the broker."""
        from klamm.cli.certs.folder import broker_settings

        settings = {
            "listeners": "SASL_SSL://127.0.0.1:9092",
            "security.inter.broker.protocol": "SASL_SSL",
            "sasl.enabled.mechanisms": _MECHANISM,
            "sasl.mechanism.inter.broker.protocol": _MECHANISM,
            **broker_settings(self.path, _BROKER),
        }
        return [f"{name}={value}" for name, value in settings.items()]

    def write_client_file(self, address: str) -> None:
        """In the names of Java's clients, which klamm's commands and pipelines know as well."""
        login = "org.apache.kafka.common.security.scram.ScramLoginModule"
        lines = [
            f"bootstrap.servers={address}",
            "security.protocol=SASL_SSL",
            f"sasl.mechanism={_MECHANISM}",
            f'sasl.jaas.config={login} required username="{USER}" password="{self.password}";',
            "ssl.truststore.type=PEM",
            f"ssl.truststore.location={self.path / 'ca.pem'}",
        ]
        _write_private(self.client_file, "\n".join(lines) + "\n")


def prepare(data: str, settings: list[str]) -> SecureFolder:
    """Makes the folder, and the data directory with its first user, or finds those of an earlier start."""
    folder = Path(f"{os.path.abspath(data)}.secure")
    known = folder / "user.json"
    if known.exists():
        return SecureFolder(folder, str(json.loads(known.read_text())["password"]))
    if os.path.exists(os.path.join(data, "meta.properties")):
        raise UsageError(
            f"{data} has a cluster already, without the user that --secure makes",
            hint="choose a new directory with --data; docs/security.md closes a cluster that is there",
        )
    from klamm.cli.certs.folder import make

    made = SecureFolder(folder, secrets.token_urlsafe(18))
    make(folder, [_BROKER, "client"])
    _format(data, made, settings)
    _write_private(known, json.dumps({"username": USER, "password": made.password}))
    return made


def _format(data: str, made: SecureFolder, settings: list[str]) -> None:
    from klamm.cli.storage import random_uuid
    from klamm.cli.storage import run as storage

    words = ["format", "--cluster-id", str(random_uuid())]
    words += ["--add-scram", f"{_MECHANISM}=[name={USER},password={made.password}]"]
    for each in [*settings, f"log.dirs={os.path.abspath(data)}"]:
        words += ["--set", each]
    with redirect_stdout(io.StringIO()):
        code = storage(words)
    if code:
        raise UsageError(f"{data} could not be prepared")


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
