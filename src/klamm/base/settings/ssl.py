"""TLS of a listener: each setting may be given for all, or for one with the prefix `listener.name.<name>.`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from klamm.base.settings.cipher_suites import TLS13, problem_with
from klamm.base.settings.declare import Mode, read_theme, setting, settings_of
from klamm.base.settings.kinds import Kind

VERSIONS = ("TLSv1.2", "TLSv1.3")
# Java opens a PKCS12 store also under the name of its own format, which is the default.
STORE_TYPES = ("PEM", "PKCS12", "JKS")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SslSettings:
    client_auth: str = setting(
        "ssl.client.auth",
        Kind.STRING,
        "none",
        one_of=("required", "requested", "none"),
        mode=Mode.PER_BROKER,
        doc="Whether clients must, may or need not show a certificate.",
    )
    principal_mapping_rules: str = setting(
        "ssl.principal.mapping.rules",
        Kind.STRING,
        "DEFAULT",
        doc="Rules that turn a certificate's name into a user name: DEFAULT, or RULE:pattern/replacement/[LU].",
    )
    allow_dn_changes: bool = setting(
        "ssl.allow.dn.changes",
        Kind.BOOLEAN,
        False,
        doc="Let a new key store carry another name than the old one.",
    )
    allow_san_changes: bool = setting(
        "ssl.allow.san.changes",
        Kind.BOOLEAN,
        False,
        doc="Let a new key store carry other alternative names than the old one.",
    )
    protocol: str = setting(
        "ssl.protocol",
        Kind.STRING,
        "TLSv1.3",
        mode=Mode.PER_BROKER,
        doc="Newest TLS version: TLSv1.3 or TLSv1.2.",
    )
    enabled_protocols: tuple[str, ...] = setting(
        "ssl.enabled.protocols",
        Kind.LIST,
        VERSIONS,
        mode=Mode.PER_BROKER,
        doc="TLS versions that are allowed.",
    )
    keystore_type: str = setting(
        "ssl.keystore.type",
        Kind.STRING,
        "JKS",
        mode=Mode.PER_BROKER,
        doc="Format of the key store: PEM or PKCS12. JKS, the default, takes PKCS12 as well; a file in Java's own format is refused.",
    )
    keystore_location: str | None = setting(
        "ssl.keystore.location",
        Kind.STRING,
        None,
        mode=Mode.PER_BROKER,
        doc="File of the key store.",
    )
    keystore_password: str | None = setting(
        "ssl.keystore.password",
        Kind.PASSWORD,
        None,
        mode=Mode.PER_BROKER,
        doc="Password of the key store.",
    )
    key_password: str | None = setting(
        "ssl.key.password",
        Kind.PASSWORD,
        None,
        mode=Mode.PER_BROKER,
        doc="Password of the private key.",
    )
    keystore_key: str | None = setting(
        "ssl.keystore.key",
        Kind.PASSWORD,
        None,
        mode=Mode.PER_BROKER,
        doc="The private key itself, as PEM.",
    )
    keystore_certificate_chain: str | None = setting(
        "ssl.keystore.certificate.chain",
        Kind.PASSWORD,
        None,
        mode=Mode.PER_BROKER,
        doc="The certificate chain itself, as PEM.",
    )
    truststore_type: str = setting(
        "ssl.truststore.type",
        Kind.STRING,
        "JKS",
        mode=Mode.PER_BROKER,
        doc="Format of the trust store: PEM or PKCS12. JKS, the default, takes PKCS12 as well; a file in Java's own format is refused.",
    )
    truststore_location: str | None = setting(
        "ssl.truststore.location",
        Kind.STRING,
        None,
        mode=Mode.PER_BROKER,
        doc="File of the trust store.",
    )
    truststore_password: str | None = setting(
        "ssl.truststore.password",
        Kind.PASSWORD,
        None,
        mode=Mode.PER_BROKER,
        doc="Password of the trust store.",
    )
    truststore_certificates: str | None = setting(
        "ssl.truststore.certificates",
        Kind.PASSWORD,
        None,
        mode=Mode.PER_BROKER,
        doc="The trusted certificates themselves, as PEM.",
    )
    endpoint_identification_algorithm: str = setting(
        "ssl.endpoint.identification.algorithm",
        Kind.STRING,
        "https",
        mode=Mode.PER_BROKER,
        doc="With https another node's certificate must be for the name by which it is reached; if empty, any name will do.",
    )
    cipher_suites: tuple[str, ...] = setting(
        "ssl.cipher.suites",
        Kind.LIST,
        (),
        mode=Mode.PER_BROKER,
        doc="Cipher suites that are allowed; all where none is named.",
    )

    @property
    def checks_host_names(self) -> bool:
        return self.endpoint_identification_algorithm.lower() == "https"

    def versions(self) -> tuple[str, ...]:
        """What is spoken. Without a suite of TLSv1.3 among those that are chosen there is no TLSv1.3."""
        versions = self.enabled_protocols or VERSIONS
        if self.cipher_suites and not set(self.cipher_suites) & set(TLS13):
            versions = tuple(each for each in versions if each != "TLSv1.3")
        elif self.cipher_suites and set(self.cipher_suites) <= set(TLS13):
            versions = tuple(each for each in versions if each != "TLSv1.2")
        return versions

    def files(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.keystore_location, self.truststore_location)))


def ssl_settings(texts: Mapping[str, str], listener: str, *, has_sasl: bool = False) -> SslSettings:
    """Of one listener: what has its prefix wins. Who logs in by SASL needs no certificate unless the prefix says so."""
    prefix = f"listener.name.{listener.lower()}."
    names = {row.name for row in settings_of(SslSettings).values()}
    merged = {
        name: texts[prefix + name] if prefix + name in texts else texts[name]
        for name in names
        if prefix + name in texts or name in texts
    }
    settings = read_theme(SslSettings, merged)
    if has_sasl and f"{prefix}ssl.client.auth" not in texts:
        settings = replace(settings, client_auth="none")
    return settings


def ssl_problems(settings: SslSettings, *, is_server: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with them before any file is read: the setting and a sentence."""
    unknown = [each for each in settings.enabled_protocols if each not in VERSIONS]
    if unknown:
        yield (
            "ssl.enabled.protocols",
            f"has {', '.join(unknown)}; klamm speaks {' and '.join(VERSIONS)}",
        )
    elif not settings.versions():
        yield "ssl.cipher.suites", "leaves no TLS version that ssl.enabled.protocols allows"
    if settings.protocol not in (*VERSIONS, "TLS"):
        yield "ssl.protocol", f"is {settings.protocol}; klamm speaks {' and '.join(VERSIONS)}"
    if problem := problem_with(settings.cipher_suites):
        yield "ssl.cipher.suites", problem
    if settings.endpoint_identification_algorithm.lower() not in ("https", ""):
        yield "ssl.endpoint.identification.algorithm", "must be https or empty"
    yield from _key_store_problems(settings, is_needed=is_server)
    yield from _trust_store_problems(settings, is_needed=is_server)


def _key_store_problems(settings: SslSettings, *, is_needed: bool) -> Iterator[tuple[str, str]]:
    inline = (settings.keystore_key, settings.keystore_certificate_chain)
    location = settings.keystore_location
    if location is None and inline == (None, None):
        if is_needed:
            yield (
                "ssl.keystore.location",
                "is missing; a listener with TLS needs a key and its certificate",
            )
        return
    yield from _type_problems("ssl.keystore.type", settings.keystore_type)
    if location is None:
        if None in inline:
            yield (
                "ssl.keystore.key",
                "and ssl.keystore.certificate.chain belong together; one is missing",
            )
        if settings.keystore_type != "PEM":
            yield "ssl.keystore.type", "must be PEM where the key is in ssl.keystore.key"
    elif inline != (None, None):
        yield "ssl.keystore.location", "and ssl.keystore.key are both set; only one may be"
    elif settings.keystore_type == "PEM" and settings.keystore_password is not None:
        yield "ssl.keystore.password", "cannot be set for PEM; the key has ssl.key.password"


def _trust_store_problems(settings: SslSettings, *, is_needed: bool) -> Iterator[tuple[str, str]]:
    location, inline = settings.truststore_location, settings.truststore_certificates
    if location is None and inline is None:
        # Deviation: Kafka then takes any client with a certificate of a public authority.
        if is_needed and settings.client_auth != "none":
            yield (
                "ssl.truststore.location",
                f"is missing; with ssl.client.auth={settings.client_auth} it says whose certificates clients may show",
            )
        return
    yield from _type_problems("ssl.truststore.type", settings.truststore_type)
    if location is not None and inline is not None:
        yield (
            "ssl.truststore.location",
            "and ssl.truststore.certificates are both set; only one may be",
        )
    elif location is None and settings.truststore_type != "PEM":
        yield (
            "ssl.truststore.type",
            "must be PEM where the certificates are in ssl.truststore.certificates",
        )


def _type_problems(key: str, kind: str) -> Iterator[tuple[str, str]]:
    if kind not in STORE_TYPES:
        yield key, f"is {kind}; klamm reads PEM and PKCS12"
