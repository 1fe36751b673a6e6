"""Cipher suites: from the names of the standard, which Java and Kafka use, to those of OpenSSL."""

from collections.abc import Iterable

# In OpenSSL's order. Which of them are allowed cannot be told to it by way of Python.
TLS13 = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")

_EXCHANGES = {
    "ECDHE_ECDSA": "ECDHE-ECDSA-",
    "ECDHE_RSA": "ECDHE-RSA-",
    "DHE_RSA": "DHE-RSA-",
    "RSA": "",
}
_CIPHERS = {
    "AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "CHACHA20_POLY1305_SHA256": "CHACHA20-POLY1305",
    "AES_128_CBC_SHA256": "AES128-SHA256",
    "AES_256_CBC_SHA384": "AES256-SHA384",
    "AES_256_CBC_SHA256": "AES256-SHA256",
    "AES_128_CBC_SHA": "AES128-SHA",
    "AES_256_CBC_SHA": "AES256-SHA",
}


def openssl_name(suite: str) -> str | None:
    """Of TLSv1.2; None for one that klamm does not offer."""
    exchange, with_, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    if not with_ or exchange not in _EXCHANGES or cipher not in _CIPHERS:
        return None
    return _EXCHANGES[exchange] + _CIPHERS[cipher]


def openssl_ciphers(suites: Iterable[str]) -> str:
    """For OpenSSL's list of TLSv1.2; empty where nothing is chosen."""
    return ":".join(filter(None, map(openssl_name, suites)))


def problem_with(suites: tuple[str, ...]) -> str | None:
    """Why this choice cannot be kept to; None if it can."""
    for suite in suites:
        if suite not in TLS13 and openssl_name(suite) is None:
            return f"has {suite}, which klamm does not offer"
    of_13 = [each for each in suites if each in TLS13]
    if of_13 and len(set(of_13)) < len(TLS13):
        # Deviation: Kafka can allow some suites of TLSv1.3 and not others; Python's ssl cannot.
        return f"names {', '.join(of_13)}; of TLSv1.3 klamm has all of {', '.join(TLS13)} or none"
    return None
