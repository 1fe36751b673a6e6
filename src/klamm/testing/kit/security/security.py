"""`Broker(security="sasl_ssl", users={"ann": "secret"})`: certificates and logins, made for one broker.

The kit itself comes by a listener of its own, without either: faults, records and topics work as ever.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from klamm.cli.certs.authority import Authority
from klamm.testing.kit.rig import OWN_LISTENER

Protocol = Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"]
Client = Literal["confluent-kafka", "aiokafka", "kafka-python", "java"]

_MECHANISM = "PLAIN"
_HOSTS = ("localhost", "127.0.0.1")


class Security:
    """`folder` is where the certificates are, if the protocol has any: `ca.pem`, and the broker's `broker.pem`."""

    def __init__(
        self, protocol: str, users: Mapping[str, str] | None = None, *, folder: Path
    ) -> None:
        self.protocol = protocol.upper()
        known = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
        if self.protocol not in known:
            raise ValueError(f"security {protocol!r} is none of {', '.join(known).lower()}")
        self.has_tls = self.protocol.endswith("SSL")
        self.has_logins = self.protocol.startswith("SASL_")
        if self.has_logins != bool(users):
            raise ValueError("users go with sasl_ssl and sasl_plaintext, and these go with users")
        self._users = dict(users or {})
        self.folder = folder
        self.ca = folder / "ca.pem"

    def make_certificates(self, host: str) -> None:
        if not self.has_tls or self.ca.exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        authority = Authority.create("klamm test CA")
        issued = authority.issue("broker", hosts=tuple(dict.fromkeys((*_HOSTS, host))))
        self.ca.write_bytes(authority.certificate_pem())
        (self.folder / "broker.pem").write_bytes(issued.store_pem())

    def broker_settings(self) -> dict[str, str]:
        settings = {
            "listener.security.protocol.map": f"{self.protocol}:{self.protocol},{OWN_LISTENER}:PLAINTEXT",
            "inter.broker.listener.name": OWN_LISTENER,
        }
        if self.has_tls:
            settings |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": str(self.folder / "broker.pem"),
            }
        if self.has_logins:
            logins = " ".join(f"user_{name}={_quoted(word)}" for name, word in self._users.items())
            settings |= {
                "sasl.enabled.mechanisms": _MECHANISM,
                f"listener.name.{self.protocol.lower()}.plain.sasl.jaas.config": (
                    f"{_MODULE} required {logins};"
                ),
                # Who is refused should hear it now.
                "connection.failed.authentication.delay.ms": "1",
            }
        return settings

    def client_settings(
        self, client: Client, bootstrap_servers: str, user: str | None = None
    ) -> dict[str, Any]:
        """As this client wants them. Without a user it is the first one."""
        name, password = self._login(user)
        if client in ("confluent-kafka", "java"):
            return self._dotted(client, bootstrap_servers, name, password)
        settings: dict[str, Any] = {
            "bootstrap_servers": bootstrap_servers,
            "security_protocol": self.protocol,
        }
        if self.has_logins:
            settings |= {
                "sasl_mechanism": _MECHANISM,
                "sasl_plain_username": name,
                "sasl_plain_password": password,
            }
        if self.has_tls:
            if client == "aiokafka":
                settings["ssl_context"] = ssl.create_default_context(cafile=str(self.ca))
            else:
                settings["ssl_cafile"] = str(self.ca)
        return settings

    def _dotted(
        self, client: Client, bootstrap_servers: str, name: str, password: str
    ) -> dict[str, Any]:
        settings = {"bootstrap.servers": bootstrap_servers, "security.protocol": self.protocol}
        is_java = client == "java"
        if self.has_logins:
            settings["sasl.mechanism"] = _MECHANISM
            if is_java:
                login = f"username={_quoted(name)} password={_quoted(password)}"
                settings["sasl.jaas.config"] = f"{_MODULE} required {login};"
            else:
                settings |= {"sasl.username": name, "sasl.password": password}
        if self.has_tls and is_java:
            settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.ca)}
        elif self.has_tls:
            settings["ssl.ca.location"] = str(self.ca)
        return settings

    def _login(self, user: str | None) -> tuple[str, str]:
        if not self.has_logins:
            if user is not None:
                raise ValueError(f"{self.protocol.lower()} has no users")
            return "", ""
        name = next(iter(self._users)) if user is None else user
        if name not in self._users:
            raise ValueError(f"there is no user {name}; there are {', '.join(self._users)}")
        return name, self._users[name]


_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
