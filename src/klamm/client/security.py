"""Security: how a client reaches a cluster that asks who it is, and whom it believes to be that cluster.

Security(protocol="SASL_SSL", mechanism="SCRAM-SHA-256", username="ann", password="...", ca="ca.pem")
Security.of({"security.protocol": "ssl", "ssl.ca.location": "ca.pem"})    # as librdkafka and Java name them
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from klamm.base.chance import Chance
from klamm.base.settings.listeners import SecurityProtocol
from klamm.security.jaas import parse_jaas
from klamm.security.sasl.exchange import SaslClient
from klamm.security.sasl.oauthbearer import OAuthBearerClient
from klamm.security.sasl.plain import PlainClient
from klamm.security.sasl.scram import MECHANISMS, ScramClient

_KNOWN = (PlainClient.mechanism, *MECHANISMS, OAuthBearerClient.mechanism)


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """Files are PEM. ValueError: something is missing or not known."""

    protocol: str = "PLAINTEXT"
    mechanism: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    # For OAUTHBEARER; a function gives a new one for each connection.
    token: str | Callable[[], str] = field(default="", repr=False)
    # Whom to believe; none: whom this machine believes.
    ca: str = ""
    certificate: str = ""
    key: str = ""
    key_password: str = field(default="", repr=False)
    checks_host_name: bool = True
    # Only for tests against somebody who cannot show who they are.
    checks_certificate: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "protocol", self.protocol.upper())
        if self.protocol not in SecurityProtocol.__members__:
            raise ValueError(f"{self.protocol} is not a security protocol")
        if not self.has_sasl:
            return
        if self.mechanism not in _KNOWN:
            raise ValueError(
                f"{self.mechanism or 'no mechanism'}: a login is by one of {', '.join(_KNOWN)}"
            )
        if self.mechanism == OAuthBearerClient.mechanism:
            if not self.token:
                raise ValueError("OAUTHBEARER needs a token")
        elif not self.username:
            raise ValueError(f"{self.mechanism} needs a username and a password")

    @property
    def has_sasl(self) -> bool:
        return SecurityProtocol[self.protocol].has_sasl

    @property
    def has_tls(self) -> bool:
        return SecurityProtocol[self.protocol].has_tls

    def begin_login(self, chance: Chance) -> SaslClient:
        if self.mechanism == PlainClient.mechanism:
            return PlainClient(self.username, self.password)
        if self.mechanism == OAuthBearerClient.mechanism:
            return OAuthBearerClient(self.token() if callable(self.token) else self.token)
        return ScramClient(MECHANISMS[self.mechanism], self.username, self.password, chance)

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Security:
        """From the properties of librdkafka or of Java's clients."""
        login = properties.get("sasl.jaas.config")
        options = parse_jaas(login).options if login else {}
        store, keys = _pem(properties, "truststore"), _pem(properties, "keystore")
        is_checked = properties.get("enable.ssl.certificate.verification", "true") != "false"
        names = properties.get("ssl.endpoint.identification.algorithm", "https")
        mechanism = properties.get("sasl.mechanism") or properties.get("sasl.mechanisms") or ""
        return cls(
            protocol=properties.get("security.protocol", "PLAINTEXT"),
            mechanism=mechanism,
            username=properties.get("sasl.username") or options.get("username", ""),
            password=properties.get("sasl.password") or options.get("password", ""),
            ca=properties.get("ssl.ca.location") or store,
            certificate=properties.get("ssl.certificate.location") or keys,
            key=properties.get("ssl.key.location") or keys,
            key_password=properties.get("ssl.key.password", ""),
            checks_host_name=names not in ("", "none"),
            checks_certificate=is_checked,
        )


def _pem(properties: Mapping[str, str], store: str) -> str:
    """Java's name of a file, where it is one that can be read here."""
    location = properties.get(f"ssl.{store}.location", "")
    if location and properties.get(f"ssl.{store}.type", "JKS").upper() != "PEM":
        raise ValueError(f"ssl.{store}.type: this client reads PEM only")
    return location
