"""What klamm offers: for each mechanism, how its settings become a check of logins.

The table's functions are called once for each listener, and give a function that begins one login.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, cast

from klamm.base.principal import KafkaPrincipal
from klamm.base.settings.broker import Settings
from klamm.base.settings.kinds import Value
from klamm.metadata.image import ClusterImage, ScramKey
from klamm.security.delegation_token import parse_principal, token_credential
from klamm.security.jaas import JaasEntry, parse_jaas
from klamm.security.sasl.exchange import USER, SaslServer
from klamm.security.sasl.oauthbearer import ClaimRules, Claims, OAuthBearerServer
from klamm.security.sasl.plain import PlainServer, checks_against, users_of
from klamm.security.sasl.scram import (
    MECHANISMS,
    Account,
    ScramCredential,
    ScramMechanism,
    ScramServer,
)
from klamm.server.login.key_source import KeySource
from klamm.server.world.ports import World

_CALLBACK = "sasl.server.callback.handler.class"
_JAAS = "sasl.jaas.config"


@dataclass(frozen=True, slots=True)
class Offer:
    """One mechanism of one listener, and where what it needs comes from."""

    world: World
    settings: Settings
    listener: str
    mechanism: str
    image: Callable[[], ClusterImage]
    on_close: Callable[[Callable[[], Awaitable[None]]], None]

    def key(self, name: str) -> str:
        """The full name of a setting of this mechanism, for sentences about it."""
        return f"listener.name.{self.listener.lower()}.{self.mechanism.lower()}.{name}"

    def value(self, name: str) -> Value:
        """A setting of the mechanism, of the listener, or of the node, whichever is nearest."""
        own = self.settings.of_mechanism(self.listener, self.mechanism, name)
        return self.settings.of_listener(self.listener, name) if own is None else own

    def jaas(self) -> JaasEntry | None:
        text = self.settings.of_mechanism(self.listener, self.mechanism, _JAAS)
        if text is None:
            return None
        try:
            return parse_jaas(str(text))
        except ValueError as e:
            raise ValueError(f"{self.key(_JAAS)}: {e}") from None

    def callback(self) -> Callable[..., Any] | None:
        """A Python function in place of what the mechanism checks by itself."""
        name = self.settings.of_mechanism(self.listener, self.mechanism, _CALLBACK)
        return None if name is None else _load(self.key(_CALLBACK), str(name))


Begin = Callable[[], SaslServer]


def _plain(offer: Offer) -> Begin:
    check = offer.callback()
    if check is not None:
        return partial(PlainServer, check, is_slow=True)
    jaas = offer.jaas()
    users = users_of(jaas.options) if jaas is not None else {}
    if not users:
        raise ValueError(
            f'PLAIN needs users: {offer.key(_JAAS)}=... required user_ann="password";'
            f" or a function of yours in {offer.key(_CALLBACK)}"
        )
    return partial(PlainServer, checks_against(users))


def _scram(offer: Offer) -> Begin:
    mechanism = MECHANISMS[offer.mechanism]
    secret = offer.settings.value("delegation.token.secret.key")

    def find(name: str, is_token: bool) -> Account | None:
        image = offer.image()
        if not is_token:
            return _user(image, mechanism, name)
        if secret is None:
            return None
        return _token(image, mechanism, str(secret), name, offer.world.clock.wall())

    decoys = offer.world.chance.randbytes(32)
    return partial(ScramServer, mechanism, find, offer.world.chance, decoys)


def _oauthbearer(offer: Offer) -> Begin:
    url = offer.value("sasl.oauthbearer.jwks.endpoint.url")
    if url is None:
        raise ValueError(
            "OAUTHBEARER needs the keys that sign tokens: "
            f"{offer.key('sasl.oauthbearer.jwks.endpoint.url')}=https://... or file:///..."
        )
    rules = ClaimRules(
        issuer=cast(str | None, offer.value("sasl.oauthbearer.expected.issuer")),
        audiences=cast(tuple[str, ...], offer.value("sasl.oauthbearer.expected.audience")),
        scope_claim=str(offer.value("sasl.oauthbearer.scope.claim.name")),
        user_claim=str(offer.value("sasl.oauthbearer.sub.claim.name")),
        skew_ms=1000 * cast(int, offer.value("sasl.oauthbearer.clock.skew.seconds")),
    )
    refresh_ms = cast(int, offer.value("sasl.oauthbearer.jwks.endpoint.refresh.ms"))
    source = KeySource(offer.world, str(url), refresh_ms)
    offer.on_close(source.close)

    def validate(token: str) -> Claims:
        return rules.read(source.claims(token), offer.world.clock.wall())

    return partial(OAuthBearerServer, validate)


def _user(image: ClusterImage, mechanism: ScramMechanism, name: str) -> Account | None:
    found = image.scram.get(ScramKey(mechanism.number, name))
    if found is None:
        return None
    credential = ScramCredential(found.salt, found.stored_key, found.server_key, found.iterations)
    return Account(credential, KafkaPrincipal(USER, name))


def _token(
    image: ClusterImage, mechanism: ScramMechanism, secret: str, token_id: str, now: int
) -> Account | None:
    token = image.delegation_tokens.get(token_id)
    if token is None or token.expiration_timestamp < now:
        return None
    owner = parse_principal(token.owner)
    return Account(
        token_credential(mechanism, secret, token_id),
        KafkaPrincipal(owner.type, owner.name, is_token=True),
        token.expiration_timestamp,
    )


def _load(key: str, name: str) -> Callable[..., Any]:
    module, colon, attribute = name.partition(":")
    if not colon:
        raise ValueError(
            f"{key} is {name}; klamm takes a Python function, written as package.module:function"
        )
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as e:
        raise ValueError(f"{key} is {name}, which cannot be loaded: {e}") from None
    if not callable(found):
        raise ValueError(f"{key} is {name}, which cannot be called")
    return found  # type: ignore[no-any-return]


OFFERED: dict[str, Callable[[Offer], Begin]] = {
    "OAUTHBEARER": _oauthbearer,
    "PLAIN": _plain,
    "SCRAM-SHA-256": _scram,
    "SCRAM-SHA-512": _scram,
}
