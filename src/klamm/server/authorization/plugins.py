"""Python classes in the place of Kafka's Java ones: found by their entry point, or as package.module:Class.

Only the node's own settings name them, never a client: who may choose code to run may do everything.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from klamm.base.settings.broker import Settings
from klamm.security.acl.standard import StandardAuthorizer
from klamm.security.authorizer import Authorizer
from klamm.security.principal_builder import PrincipalBuilder

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
DEFAULT_PRINCIPAL_BUILDER = (
    "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"
)


class UnknownPlugin(ValueError):
    """A class that the settings name cannot be had: the node must not start without it."""


def make_authorizer(settings: Settings) -> Authorizer | None:
    name = settings.authorization.authorizer.strip()
    if not name:
        return None
    if name == STANDARD_AUTHORIZER:
        standard = settings.standard_authorizer
        return StandardAuthorizer(
            super_users(standard.super_users or ""),
            allow_if_no_acl_found=standard.allow_if_no_acl_found,
        )
    make = _find("authorizer.class.name", name, "klamm.authorizers")
    authorizer: Authorizer = _made("authorizer.class.name", name, lambda: make(settings.static))
    return authorizer


def make_principal_builder(settings: Settings) -> PrincipalBuilder | None:
    """None for Kafka's own way."""
    name = settings.authorization.principal_builder.strip()
    if name == DEFAULT_PRINCIPAL_BUILDER:
        return None
    make = _find("principal.builder.class", name, "klamm.principal_builders")
    builder: PrincipalBuilder = _made(
        "principal.builder.class", name, lambda: make(settings.static)
    )
    return builder


def super_users(text: str) -> frozenset[str]:
    """`User:ann;User:bob`. ValueError for what is no user: a super user that is misspelt must not pass in silence."""
    names = frozenset(each.strip() for each in text.split(";") if each.strip())
    for name in names:
        kind, colon, rest = name.partition(":")
        if not (kind and colon and rest):
            raise UnknownPlugin(f"super.users has {name!r}; expected type:name, such as User:ann")
    return names


def _find(key: str, name: str, group: str) -> Callable[..., Any]:
    found = entry_points(group=group, name=name)
    try:
        if found:
            loaded: Callable[..., Any] = next(iter(found)).load()
            return loaded
        module, colon, attribute = name.partition(":")
        if colon:
            named: Callable[..., Any] = getattr(import_module(module), attribute)
            return named
    except (ImportError, AttributeError) as e:
        raise UnknownPlugin(f"{key}={name} cannot be loaded: {e}") from e
    raise UnknownPlugin(
        f"{key}={name} is not known: expected Kafka's own class, package.module:Class or an entry point of {group}"
    )


def _made(key: str, name: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except Exception as e:
        raise UnknownPlugin(f"{key}={name} cannot be made: {e}") from e
