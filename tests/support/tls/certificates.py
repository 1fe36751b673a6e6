"""Certificates for tests, as files: an authority, brokers and clients that it knows, and others."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from klamm.cli.certs.authority import Authority, Issued

HOSTS = ("localhost", "127.0.0.1")
PASSWORD = "store-secret-7"


@dataclass(frozen=True)
class Keys:
    """`store` has key and certificates; `key` and `certificate` have one of them."""

    issued: Issued
    store: Path
    key: Path
    certificate: Path


class Certificates:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.authority = Authority.create()
        self.ca = folder / "ca.pem"
        self.ca.write_bytes(self.authority.certificate_pem())

    def issue(
        self,
        name: str,
        *,
        hosts: tuple[str, ...] = HOSTS,
        by: Authority | None = None,
        expired: bool = False,
    ) -> Keys:
        now = datetime.now(UTC)
        issued = (by or self.authority).issue(
            name,
            hosts=hosts,
            organization="klamm",
            begins=now - timedelta(days=20),
            ends=now - timedelta(days=1) if expired else now + timedelta(days=20),
        )
        return self.write(name, issued)

    def write(self, name: str, issued: Issued) -> Keys:
        keys = Keys(
            issued,
            store=self._folder / f"{name}.pem",
            key=self._folder / f"{name}.key",
            certificate=self._folder / f"{name}.crt",
        )
        keys.store.write_bytes(issued.store_pem())
        keys.key.write_bytes(issued.key_pem())
        keys.certificate.write_bytes(issued.certificate_pem())
        return keys

    def broker_settings(self, keys: Keys, **more: object) -> dict[str, object]:
        """TLS with stores of PEM; more settings with underscores for dots."""
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": keys.store,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.ca,
            **{name.replace("_", "."): value for name, value in more.items()},
        }

    def librdkafka(self, keys: Keys | None = None) -> dict[str, str]:
        """Settings of a client, one that shows a certificate or none."""
        settings = {"security.protocol": "ssl", "ssl.ca.location": str(self.ca)}
        if keys is not None:
            settings["ssl.key.location"] = str(keys.key)
            settings["ssl.certificate.location"] = str(keys.certificate)
        return settings
