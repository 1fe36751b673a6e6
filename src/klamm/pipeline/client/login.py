"""Who logs in, and how: librdkafka has a setting for each fact, Java puts them into one line, `sasl.jaas.config`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from klamm.pipeline.client.trouble import BadClientSettings

# Beginnings of names. What Java would only complain about, and what librdkafka would refuse.
LIBRDKAFKA_ONLY = (
    *("sasl.username", "sasl.password", "sasl.mechanisms", "sasl.kerberos.keytab"),
    *("sasl.kerberos.principal", "sasl.oauthbearer.method", "sasl.oauthbearer.client."),
    *("sasl.oauthbearer.config", "sasl.oauthbearer.scope", "sasl.oauthbearer.extensions"),
    "enable.sasl.oauthbearer.",
)
JAVA_ONLY = (
    *("sasl.jaas.", "sasl.login.", "sasl.client.", "sasl.kerberos.ticket."),
    *("sasl.oauthbearer.jwks.", "sasl.oauthbearer.expected.", "sasl.oauthbearer.clock."),
    *("sasl.oauthbearer.header.", "sasl.oauthbearer.sub.claim", "sasl.oauthbearer.scope.claim"),
)

_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_OAUTH = "OAUTHBEARER"
_OAUTH_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_OAUTH_HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
_ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
# Options of Java's line, and what librdkafka calls them.
_OAUTH_NAMES = {
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
}
# Kafka's own default, which the librdkafka of PyPI is built without.
_KERBEROS = "GSSAPI"
_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""")


def check(client: Mapping[str, str]) -> None:
    protocol = client.get("security.protocol", "").upper()
    if protocol.startswith("SASL_") and (mechanism_of(client) or _KERBEROS) == _KERBEROS:
        found = "and none is given" if mechanism_of(client) is None else f"found {_KERBEROS}"
        raise BadClientSettings(
            f"client: {protocol} needs a sasl.mechanism of {', '.join((*_MODULES, _OAUTH))}, {found} (Kerberos is none "
            "that klamm's clients are built with)"
        )


def mechanism_of(client: Mapping[str, str]) -> str | None:
    found = client.get("sasl.mechanism") or client.get("sasl.mechanisms")
    return found.upper() if found else None


def for_java(client: Mapping[str, str]) -> dict[str, str]:
    mechanism = mechanism_of(client)
    found = {"sasl.mechanism": mechanism} if mechanism else {}
    if "sasl.jaas.config" in client:
        return found
    if mechanism == _OAUTH:
        return found | _oauth_for_java(client)
    if "sasl.username" in client:
        found["sasl.jaas.config"] = _line_of_a_user(client, mechanism)
    return found


def for_librdkafka(client: Mapping[str, str]) -> dict[str, str]:
    mechanism = mechanism_of(client)
    found = {"sasl.mechanism": mechanism} if mechanism else {}
    jaas = client.get("sasl.jaas.config")
    if mechanism == _OAUTH:
        return found | _oauth_for_librdkafka(client, _options_of(jaas or ""))
    if jaas is not None and "sasl.username" not in client:
        found |= _user_in(_options_of(jaas))
    return found


def _line_of_a_user(client: Mapping[str, str], mechanism: str | None) -> str:
    module = _MODULES.get(mechanism or "")
    if module is None:
        raise BadClientSettings(
            f"client: sasl.username needs a sasl.mechanism that takes one ({', '.join(_MODULES)}), "
            f"found {mechanism or 'none'}"
        )
    user = {"username": client["sasl.username"], "password": client.get("sasl.password", "")}
    return _line(module, user)


def _user_in(options: Mapping[str, str]) -> dict[str, str]:
    """The user and password of Java's own notation; other ways to log in are not librdkafka's."""
    if "username" not in options:
        raise BadClientSettings(
            "client: sasl.jaas.config names no username; give sasl.username and sasl.password instead"
        )
    if options.get("tokenauth", "").lower() == "true":
        raise BadClientSettings(
            "client: only Java logs in with a delegation token (tokenauth in sasl.jaas.config); give a user instead"
        )
    return {"sasl.username": options["username"], "sasl.password": options.get("password", "")}


def _oauth_for_java(client: Mapping[str, str]) -> dict[str, str]:
    options = {
        java: client[name] for java, name in _OAUTH_NAMES.items() if client.get(name) is not None
    }
    if _ENDPOINT not in client or "clientId" not in options or "clientSecret" not in options:
        needed = f"{_ENDPOINT}, {_OAUTH_NAMES['clientId']} and {_OAUTH_NAMES['clientSecret']}"
        raise BadClientSettings(f"client: {_OAUTH} needs {needed}, or Java's sasl.jaas.config")
    # Java splits what it finds here; librdkafka sends it as it is.
    for pair in filter(None, client.get("sasl.oauthbearer.extensions", "").split(",")):
        name, _, value = pair.partition("=")
        options[f"extension_{name.strip()}"] = value.strip()
    return {
        "sasl.jaas.config": _line(_OAUTH_MODULE, options),
        "sasl.login.callback.handler.class": _OAUTH_HANDLER,
    }


def _oauth_for_librdkafka(client: Mapping[str, str], options: Mapping[str, str]) -> dict[str, str]:
    found = {
        name: options[java]
        for java, name in _OAUTH_NAMES.items()
        if java in options and name not in client
    }
    extensions = [
        f"{name.removeprefix('extension_')}={value}"
        for name, value in options.items()
        if name.startswith("extension_")
    ]
    if extensions:
        found["sasl.oauthbearer.extensions"] = ",".join(extensions)
    if _ENDPOINT in client:
        found["sasl.oauthbearer.method"] = "oidc"
    elif "enable.sasl.oauthbearer.unsecure.jwt" not in client:
        raise BadClientSettings(f"client: {_OAUTH} needs a {_ENDPOINT} that gives the tokens")
    return found


def _line(module: str, options: Mapping[str, str]) -> str:
    pairs = " ".join(f"{name}={_quoted(value)}" for name, value in options.items())
    return f"{module} required {pairs};"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _options_of(jaas: str) -> dict[str, str]:
    found = {}
    for name, double, single, plain in _OPTION.findall(jaas):
        found[name] = re.sub(r"\\(.)", r"\1", double or single) or plain
    return found
