"""Key and trust stores: PEM and PKCS12, from files or from the settings themselves. What cannot be used is refused here.

A store is read whole before anything of it is used: a listener has a key with its certificates and those it trusts, or
it does not start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    pkcs12,
)

from klamm.base.settings.ssl import SslSettings
from klamm.server.world.ports import BadStore

_JKS = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
# Nobody has a store of this size by intent.
_MOST_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class KeyStore:
    """A private key, and its certificate with those that lead to a root."""

    key: PrivateKeyTypes
    chain: tuple[x509.Certificate, ...]
    where: str

    def pem(self) -> bytes:
        key = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return key + b"".join(each.public_bytes(Encoding.PEM) for each in self.chain)


@dataclass(frozen=True, slots=True)
class Stores:
    keys: KeyStore | None
    trusted: tuple[x509.Certificate, ...] | None

    def trusted_der(self) -> bytes:
        return b"".join(each.public_bytes(Encoding.DER) for each in self.trusted or ())


def read_stores(settings: SslSettings) -> Stores:
    """BadStore says in one sentence what is wrong, and with which file."""
    return Stores(_key_store(settings), _trust_store(settings))


def _key_store(settings: SslSettings) -> KeyStore | None:
    where = settings.keystore_location
    if where is not None:
        data = _read("ssl.keystore.location", where)
        if settings.keystore_type == "PEM":
            keys = _pem_keys(where, data, data, settings.key_password)
        else:
            keys = _pkcs12_keys(where, data, settings.keystore_password)
    elif settings.keystore_key is not None and settings.keystore_certificate_chain is not None:
        keys = _pem_keys(
            "ssl.keystore.key",
            _pem_text(settings.keystore_key),
            _pem_text(settings.keystore_certificate_chain),
            settings.key_password,
        )
    else:
        return None
    # Deviation: Kafka starts with certificates that have expired.
    _check_keys(keys)
    return keys


def _trust_store(settings: SslSettings) -> tuple[x509.Certificate, ...] | None:
    where = settings.truststore_location
    if where is not None:
        data = _read("ssl.truststore.location", where)
        if settings.truststore_type == "PEM":
            trusted = _certificates(where, data)
        else:
            trusted = _pkcs12_certificates(where, data, settings.truststore_password)
    elif settings.truststore_certificates is not None:
        where = "ssl.truststore.certificates"
        trusted = _certificates(where, _pem_text(settings.truststore_certificates))
    else:
        return None
    if not trusted:
        raise BadStore(f"{where}: there is no certificate in it")
    return trusted


def _read(key: str, path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as e:
        raise BadStore(f"{key} {path}: cannot be read: {e.strerror}") from e
    if data.startswith(_JKS):
        # Deviation: Kafka reads Java's own format.
        raise BadStore(
            f"{key} {path}: is a JKS store, which only Java reads; keytool -importkeystore -srckeystore {path} "
            f"-destkeystore {path}.p12 -deststoretype PKCS12 makes a PKCS12 store of it"
        )
    if len(data) > _MOST_BYTES:
        raise BadStore(f"{key} {path}: is larger than {_MOST_BYTES} bytes")
    return data


def _pem_text(text: str) -> bytes:
    """Kafka's properties may hold a PEM in one line, with spaces where the lines ended."""
    text = text.strip()
    if "\n" not in text:
        words = text.replace("-----BEGIN ", "\n-----BEGIN_").replace("-----END ", "\n-----END_")
        words = words.replace("PRIVATE KEY-----", "PRIVATE_KEY-----")
        words = words.replace("ENCRYPTED PRIVATE", "ENCRYPTED_PRIVATE")
        words = words.replace("RSA PRIVATE", "RSA_PRIVATE").replace("EC PRIVATE", "EC_PRIVATE")
        lines = (line.replace("_", " ") if "-----" in line else line for line in words.split())
        text = "\n".join(lines)
    return text.encode() + b"\n"


def _pem_keys(where: str, key_data: bytes, chain_data: bytes, password: str | None) -> KeyStore:
    secret = password.encode() if password else None
    if b"ENCRYPTED" not in key_data:
        secret = None
    elif secret is None:
        raise BadStore(f"{where}: its private key is encrypted, and ssl.key.password is not set")
    try:
        key = load_pem_private_key(key_data, secret)
    except (ValueError, TypeError, UnsupportedAlgorithm) as e:
        if secret is not None:
            raise BadStore(f"{where}: ssl.key.password does not open its private key") from e
        raise BadStore(f"{where}: has no private key in PEM form") from e
    chain = _certificates(where, chain_data)
    if not chain:
        raise BadStore(f"{where}: has no certificate beside its private key")
    return KeyStore(key, chain, where)


def _certificates(where: str, data: bytes) -> tuple[x509.Certificate, ...]:
    if b"-----BEGIN CERTIFICATE-----" not in data:
        raise BadStore(f"{where}: has no certificate in PEM form")
    try:
        return tuple(x509.load_pem_x509_certificates(data))
    except ValueError as e:
        raise BadStore(f"{where}: has a certificate that cannot be read") from e


def _pkcs12(where: str, data: bytes, password: str | None) -> pkcs12.PKCS12KeyAndCertificates:
    try:
        return pkcs12.load_pkcs12(data, password.encode() if password else None)
    except (ValueError, UnsupportedAlgorithm) as e:
        if not data.startswith(b"\x30"):
            raise BadStore(f"{where}: is not a PKCS12 store") from e
        raise BadStore(f"{where}: its password does not open it, or it is damaged") from e


def _pkcs12_keys(where: str, data: bytes, password: str | None) -> KeyStore:
    store = _pkcs12(where, data, password)
    if store.key is None or store.cert is None:
        raise BadStore(f"{where}: has no private key with a certificate")
    others = {each.certificate.subject: each.certificate for each in store.additional_certs}
    chain = [store.cert.certificate]
    # Each behind the one that it vouches for.
    while (issuer := others.pop(chain[-1].issuer, None)) is not None:
        chain.append(issuer)
    return KeyStore(store.key, tuple(chain), where)


def _pkcs12_certificates(
    where: str, data: bytes, password: str | None
) -> tuple[x509.Certificate, ...]:
    store = _pkcs12(where, data, password)
    own = [store.cert] if store.cert is not None else []
    return tuple(each.certificate for each in (*own, *store.additional_certs))


def _check_keys(keys: KeyStore) -> None:
    certificate = keys.chain[0]
    if _public(keys.key.public_key()) != _public(certificate.public_key()):
        raise BadStore(f"{keys.where}: the private key does not fit its first certificate")
    check_validity(keys.where, keys.chain)


def check_validity(where: str, chain: Sequence[x509.Certificate]) -> None:
    now = datetime.now(UTC)
    for each in chain:
        name = each.subject.rfc4514_string()
        if each.not_valid_after_utc < now:
            raise BadStore(
                f"{where}: the certificate of {name} has expired at {each.not_valid_after_utc}"
            )
        if each.not_valid_before_utc > now:
            raise BadStore(
                f"{where}: the certificate of {name} is not valid before {each.not_valid_before_utc}"
            )


def check_names(settings: SslSettings, new: Stores, old: Stores) -> None:
    """As Kafka does: a mistaken store should not make another node of this one."""
    if new.keys is None or old.keys is None:
        return
    where, is_now, was = new.keys.where, new.keys.chain[0], old.keys.chain[0]
    if not settings.allow_dn_changes and is_now.subject != was.subject:
        raise BadStore(
            f"{where}: is for {is_now.subject.rfc4514_string()}, and the old one for "
            f"{was.subject.rfc4514_string()}; ssl.allow.dn.changes would allow that"
        )
    missing = _alternatives(was) - _alternatives(is_now)
    if not settings.allow_san_changes and missing:
        raise BadStore(
            f"{where}: is not for {', '.join(sorted(missing))}, as the old one is; ssl.allow.san.changes would allow that"
        )


def _alternatives(certificate: x509.Certificate) -> set[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return set()
    return {str(each.value) for each in names.value}


def _public(key: object) -> bytes:
    data: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[attr-defined]
    return data
