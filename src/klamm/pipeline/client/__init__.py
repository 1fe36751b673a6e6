"""The file's settings of connections, as the two clients understand them: Java's, in Spark's connector, and librdkafka.

A user writes them once, in the names of either client, with Spark's prefix `kafka.` or without it; what only the other one
knows is translated. What one of them cannot do is refused before anything runs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from klamm.pipeline.client import certificates, login
from klamm.pipeline.client.trouble import BadClientSettings
from klamm.pipeline.place import Place

__all__ = [
    "BadClientSettings",
    "check_client",
    "connection",
    "for_librdkafka",
    "for_spark",
    "is_of_the_connection",
    "silent",
]

# As Spark's connector has it before every name.
PREFIX = "kafka."
# librdkafka refuses names that it does not know and complains about those of a consumer in a producer. So it is given
# what concerns the connection, and not what tunes Java's reader.
_FOR_ANY_CONNECTION = (
    *("security.", "sasl.", "ssl.", "socket.", "broker.", "reconnect.backoff.", "metadata."),
    *("client.", "enable.ssl.", "enable.sasl.", "connections.max.idle.ms", "retry.backoff."),
)
_JAVA_ONLY = (
    *certificates.JAVA_ONLY,
    *login.JAVA_ONLY,
    *("security.providers", "metadata.max.idle.ms", "metadata.recovery."),
)
_LIBRDKAFKA_ONLY = (*certificates.LIBRDKAFKA_ONLY, *login.LIBRDKAFKA_ONLY)
# As Java's client does it. librdkafka would come back ten seconds after the broker.
_LONGEST_BACKOFF_MS = "1000"


def is_of_the_connection(name: str) -> bool:
    """Whether all who speak to the cluster must know it: how to encrypt and how to log in."""
    return name.removeprefix(PREFIX).startswith(("security.", "sasl.", "ssl.", "enable.ssl."))


def check_client(client: Mapping[str, str]) -> None:
    """Raises BadClientSettings for what one of the two could not use."""
    for_spark(client)
    for_librdkafka(client)


def for_spark(client: Mapping[str, str]) -> dict[str, str]:
    """Options for Spark's connector, each with the prefix `kafka.`."""
    given = _plain(client)
    java = {name: value for name, value in given.items() if not name.startswith(_LIBRDKAFKA_ONLY)}
    java |= {**login.for_java(given), **certificates.for_java(given)}
    return {f"{PREFIX}{name}": value for name, value in java.items()}


def for_librdkafka(client: Mapping[str, str]) -> dict[str, str]:
    """Settings for confluent-kafka's clients of any kind."""
    given = _plain(client)
    found = {
        name: value
        for name, value in given.items()
        if name.startswith(_FOR_ANY_CONNECTION) and not name.startswith(_JAVA_ONLY)
    }
    if not any(name.startswith("reconnect.backoff.") for name in found):
        found["reconnect.backoff.max.ms"] = _LONGEST_BACKOFF_MS
    return {**found, **login.for_librdkafka(given), **certificates.for_librdkafka(given)}


def connection(place: Place) -> dict[str, Any]:
    """All that a client of librdkafka is told about the cluster. Every client of a pipeline begins with it."""
    return {**for_librdkafka(place.client), "bootstrap.servers": place.bootstrap, **silent()}


def silent() -> dict[str, Any]:
    """For every client of librdkafka. It prints with its own hand, however low its log_level is, when a transaction's
    client was fenced: with us that is what a newer attempt of the same task does. What matters comes as an exception."""
    logger = logging.getLogger("klamm.pipeline.librdkafka")
    logger.setLevel(logging.CRITICAL + 1)
    return {"log_level": 0, "logger": logger}


def _plain(client: Mapping[str, str]) -> dict[str, str]:
    given = {name.removeprefix(PREFIX): value for name, value in client.items()}
    login.check(given)
    certificates.check(given)
    return given
