"""Whom to trust and who one is: librdkafka has files in PEM, Java has stores, which may be PEM, too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from klamm.pipeline.client.trouble import BadClientSettings

# Beginnings of names. What Java would only complain about, and what librdkafka would refuse or take for something else.
LIBRDKAFKA_ONLY = ("ssl.ca.", "ssl.certificate.", "ssl.key.location", "ssl.key.pem", "enable.ssl.")
JAVA_ONLY = (
    *("ssl.truststore.", "ssl.keystore.", "ssl.protocol", "ssl.enabled.", "ssl.provider"),
    *("ssl.secure.", "ssl.trustmanager.", "ssl.keymanager.", "ssl.engine.factory", "ssl.cipher."),
)

_PEM = "PEM"
_HOST_CHECK = "ssl.endpoint.identification.algorithm"
_NO_CHECK = "enable.ssl.certificate.verification"
# How a file of Java's own kind begins, which nothing but Java reads.
_JKS_MAGIC = b"\xfe\xed\xfe\xed"
# As keys were written before PKCS #8, which is all that Java's client reads.
_OLD_KEYS = ("BEGIN RSA PRIVATE KEY", "BEGIN EC PRIVATE KEY", "BEGIN DSA PRIVATE KEY")


def check(client: Mapping[str, str]) -> None:
    if client.get(_NO_CHECK, "true").lower() == "false":
        raise BadClientSettings(
            f"client: Spark's client always checks certificates, so {_NO_CHECK}=false cannot hold; give the authority's "
            "certificate as a PEM file under ssl.ca.location"
        )


def for_java(client: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    if not _has(client, "ssl.truststore."):
        if "ssl.ca.location" in client:
            found |= {
                "ssl.truststore.type": _PEM,
                "ssl.truststore.location": client["ssl.ca.location"],
            }
        elif "ssl.ca.pem" in client:
            found |= {
                "ssl.truststore.type": _PEM,
                "ssl.truststore.certificates": client["ssl.ca.pem"],
            }
    if not _has(client, "ssl.keystore."):
        found |= _own_for_java(client)
    if client.get(_HOST_CHECK) == "none":
        found[_HOST_CHECK] = ""
    return found


def for_librdkafka(client: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    if not _has(client, "ssl.ca."):
        found |= _trusted_for_librdkafka(client)
    if not _has(client, "ssl.certificate.", "ssl.key.location", "ssl.key.pem"):
        found |= _own_for_librdkafka(client)
    if client.get(_HOST_CHECK) == "":
        found[_HOST_CHECK] = "none"
    return found


def _own_for_java(client: Mapping[str, str]) -> dict[str, str]:
    chain = client.get("ssl.certificate.pem") or _text_of(client, "ssl.certificate.location")
    key = client.get("ssl.key.pem") or _text_of(client, "ssl.key.location")
    if chain is None and key is None:
        return {}
    if chain is None or key is None:
        one, other = ("ssl.key", "certificate") if chain is None else ("ssl.certificate", "key")
        raise BadClientSettings(f"client: {one}.location is given without its {other}")
    if any(each in key for each in _OLD_KEYS):
        raise BadClientSettings(
            "client: Spark's client reads private keys in PKCS #8 only (BEGIN PRIVATE KEY); write it anew with "
            "`openssl pkcs8 -topk8`"
        )
    return {
        "ssl.keystore.type": _PEM,
        "ssl.keystore.certificate.chain": chain,
        "ssl.keystore.key": key,
    }


def _own_for_librdkafka(client: Mapping[str, str]) -> dict[str, str]:
    if "ssl.keystore.key" in client:
        return {
            "ssl.certificate.pem": client.get("ssl.keystore.certificate.chain", ""),
            "ssl.key.pem": client["ssl.keystore.key"],
        }
    store = client.get("ssl.keystore.location")
    if store is None:
        return {}
    kind = client.get("ssl.keystore.type", "").upper()
    if kind == _PEM:
        # Both stand in it, and OpenSSL takes what it looks for.
        return {"ssl.certificate.location": store, "ssl.key.location": store}
    if kind == "JKS" or _begins_with(store, _JKS_MAGIC):
        raise BadClientSettings(
            "client: only Java reads the file under ssl.keystore.location; give ssl.certificate.location and "
            "ssl.key.location (PEM), or a store of PKCS12"
        )
    password = client.get("ssl.keystore.password")
    return {
        "ssl.keystore.location": store,
        **({"ssl.keystore.password": password} if password else {}),
    }


def _trusted_for_librdkafka(client: Mapping[str, str]) -> dict[str, str]:
    if "ssl.truststore.certificates" in client:
        return {"ssl.ca.pem": client["ssl.truststore.certificates"]}
    store = client.get("ssl.truststore.location")
    if store is None:
        return {}
    if client.get("ssl.truststore.type", "").upper() != _PEM:
        raise BadClientSettings(
            "client: only Java reads the file under ssl.truststore.location; give the authority's certificate as "
            "a PEM file under ssl.ca.location instead"
        )
    return {"ssl.ca.location": store}


def _has(client: Mapping[str, str], *beginnings: str) -> bool:
    return any(name.startswith(beginnings) for name in client)


def _text_of(client: Mapping[str, str], name: str) -> str | None:
    """What stands in a file. Java takes a certificate and its key from one file or from none."""
    if name not in client:
        return None
    try:
        return Path(client[name]).read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text in PEM"
        raise BadClientSettings(f"client: {client[name]} ({name}) cannot be read: {why}") from error


def _begins_with(file: str, magic: bytes) -> bool:
    try:
        with open(file, "rb") as opened:
            return opened.read(len(magic)) == magic
    except OSError:
        return False  # for the client to say
