"""An authority of one's own: a root, and the certificates that it signs. For development; it keeps no list and revokes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# A clock that is a little behind should not find a certificate of the future.
_EARLIER = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Issued:
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    authority: x509.Certificate

    def key_pem(self) -> bytes:
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    def store_pem(self) -> bytes:
        """Key, certificate and authority: a key store of type PEM."""
        return self.key_pem() + self.certificate_pem() + self.authority.public_bytes(Encoding.PEM)

    def store_pkcs12(self, password: str) -> bytes:
        return pkcs12.serialize_key_and_certificates(
            b"klamm",
            self.key,
            self.certificate,
            [self.authority],
            BestAvailableEncryption(password.encode()),
        )


class Authority:
    def __init__(self, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
        self._key = key
        self.certificate = certificate

    @classmethod
    def create(cls, name: str = "klamm development CA", *, days: int = 3650) -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(name, None)
        now = datetime.now(UTC)
        usage = x509.KeyUsage(
            key_cert_sign=True,
            crl_sign=True,
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            _builder(subject, subject, key, now - _EARLIER, now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
            .sign(key, hashes.SHA256())
        )
        return cls(key, certificate)

    @classmethod
    def load(cls, key: bytes, certificate: bytes) -> Authority:
        """ValueError: this is no key and certificate of an authority that we made."""
        loaded = load_pem_private_key(key, None)
        if not isinstance(loaded, ec.EllipticCurvePrivateKey):
            raise ValueError("its key is of another kind")
        return cls(loaded, x509.load_pem_x509_certificate(certificate))

    def key_pem(self) -> bytes:
        return self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    def issue(
        self,
        name: str,
        *,
        hosts: Sequence[str] = (),
        organization: str | None = None,
        begins: datetime | None = None,
        ends: datetime | None = None,
    ) -> Issued:
        """For a broker, which others reach by `hosts`, and for a client as well."""
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)
        begins = begins or now - _EARLIER
        ends = ends or now + timedelta(days=825)
        builder = _builder(
            _name(name, organization), self.certificate.subject, key, begins, ends
        ).add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(
            x509.ExtendedKeyUsage(
                [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
            ),
            critical=False,
        ).add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
            critical=False,
        )
        if hosts:
            names = x509.SubjectAlternativeName([_alternative(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        return Issued(key, builder.sign(self._key, hashes.SHA256()), self.certificate)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    begins: datetime,
    ends: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
    )


def _name(common: str, organization: str | None) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organization is not None:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
