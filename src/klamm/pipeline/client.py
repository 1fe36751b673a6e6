"""The file's settings of connections, as the two clients understand them: Java's, in Spark's connector, and librdkafka.

A user writes them once, in the names of either client; what only the other one knows is translated.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
# What librdkafka has beside Java's names, and Java would only complain about.
_LIBRDKAFKA_ONLY = ("sasl.username", "sasl.password", "sasl.mechanisms", "ssl.ca.location")
# librdkafka refuses names that it does not know and complains about those of a consumer in a producer. So it is given
# what concerns the connection, and not what tunes Java's reader.
_FOR_ANY_CONNECTION = (
    *("security.", "sasl.", "ssl.", "socket.", "broker.", "reconnect.backoff.", "metadata."),
    *("client.", "enable.ssl.", "connections.max.idle.ms", "retry.backoff."),
)
_JAVA_ONLY = (
    *("ssl.truststore.", "ssl.keystore.", "ssl.protocol", "ssl.enabled.", "ssl.provider"),
    *("ssl.secure.", "ssl.trustmanager.", "ssl.keymanager.", "ssl.engine.", "ssl.cipher.suites"),
    *("sasl.jaas.", "sasl.login.", "sasl.client.", "sasl.kerberos.ticket.", "security.providers"),
    *("metadata.max.idle.ms", "metadata.recovery."),
)
# As Java's client does it. librdkafka would come back ten seconds after the broker.
_LONGEST_BACKOFF_MS = "1000"


class BadClientSettings(Exception):
    """Settings that one of the clients cannot use. The text is for the user."""


def for_spark(client: Mapping[str, str]) -> dict[str, str]:
    """Options for Spark's connector, each with the prefix `kafka.`."""
    java = {name: value for name, value in client.items() if name not in _LIBRDKAFKA_ONLY}
    if mechanism := client.get("sasl.mechanism") or client.get("sasl.mechanisms"):
        java["sasl.mechanism"] = mechanism
    if "sasl.username" in client and "sasl.jaas.config" not in client:
        java["sasl.jaas.config"] = _jaas(client, mechanism)
    if "ssl.ca.location" in client and "ssl.truststore.location" not in client:
        java["ssl.truststore.type"] = "PEM"
        java["ssl.truststore.location"] = client["ssl.ca.location"]
    if java.get("ssl.endpoint.identification.algorithm") == "none":
        java["ssl.endpoint.identification.algorithm"] = ""
    return {f"kafka.{name}": value for name, value in java.items()}


def for_librdkafka(client: Mapping[str, str]) -> dict[str, str]:
    """Settings for confluent-kafka's clients of any kind."""
    found = {
        name: value
        for name, value in client.items()
        if name.startswith(_FOR_ANY_CONNECTION) and not name.startswith(_JAVA_ONLY)
    }
    if not any(name.startswith("reconnect.backoff.") for name in found):
        found["reconnect.backoff.max.ms"] = _LONGEST_BACKOFF_MS
    if "sasl.jaas.config" in client and "sasl.username" not in client:
        found |= _login(client["sasl.jaas.config"])
    if "ssl.truststore.location" in client and "ssl.ca.location" not in client:
        if client.get("ssl.truststore.type", "").upper() != "PEM":
            raise BadClientSettings(
                "client: only Java reads the file under ssl.truststore.location; give the authority's certificate as "
                "a PEM file under ssl.ca.location instead"
            )
        found["ssl.ca.location"] = client["ssl.truststore.location"]
    if found.get("ssl.endpoint.identification.algorithm") == "":
        found["ssl.endpoint.identification.algorithm"] = "none"
    return found


def silent() -> dict[str, Any]:
    """For every client of librdkafka. It prints with its own hand, however low its log_level is, when a transaction's
    client was fenced: with us that is what a newer attempt of the same task does. What matters comes as an exception."""
    logger = logging.getLogger("klamm.pipeline.librdkafka")
    logger.setLevel(logging.CRITICAL + 1)
    return {"log_level": 0, "logger": logger}


def _jaas(client: Mapping[str, str], mechanism: str | None) -> str:
    module = _LOGIN_MODULES.get((mechanism or "").upper())
    if module is None:
        raise BadClientSettings(
            f"client: sasl.username needs a sasl.mechanism that takes one ({', '.join(_LOGIN_MODULES)}), "
            f"found {mechanism or 'none'}"
        )
    user, password = _quoted(client["sasl.username"]), _quoted(client.get("sasl.password", ""))
    return f"{module} required username={user} password={password};"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _login(jaas: str) -> dict[str, str]:
    """The user and password of Java's own notation; other ways to log in are not librdkafka's."""
    pairs = re.findall(r'(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))', jaas)
    found = {name: re.sub(r"\\(.)", r"\1", quoted) or plain for name, quoted, plain in pairs}
    if "username" not in found:
        raise BadClientSettings(
            "client: sasl.jaas.config names no username; give sasl.username and sasl.password instead"
        )
    return {"sasl.username": found["username"], "sasl.password": found.get("password", "")}
