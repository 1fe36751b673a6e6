"""Whose quota holds for a client: the nearest of those that are set for its user, its client id, both, or everybody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from klamm.metadata.image import QuotaEntity, QuotaPart

USER, CLIENT_ID, IP = "user", "client-id", "ip"
PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"


class Bound(NamedTuple):
    """The rate, and who shares it: all whose `shared_by` is equal are measured together."""

    rate: float
    shared_by: tuple[str | None, str | None]


def bound_for(
    quotas: Mapping[QuotaEntity, Mapping[str, float]], key: str, user: str, client_id: str
) -> Bound | None:
    """In Kafka's order, the most special first. None: no quota."""
    for entity, shared_by in (
        (_both(user, client_id), (user, client_id)),
        (_both(user, None), (user, client_id)),
        ((QuotaPart(USER, user),), (user, None)),
        (_both(None, client_id), (user, client_id)),
        (_both(None, None), (user, client_id)),
        ((QuotaPart(USER, None),), (user, None)),
        ((QuotaPart(CLIENT_ID, client_id),), (None, client_id)),
        ((QuotaPart(CLIENT_ID, None),), (None, client_id)),
    ):
        rate = quotas.get(entity, {}).get(key)
        if rate is not None:
            return Bound(rate, shared_by)
    return None


def connection_rate_for(
    quotas: Mapping[QuotaEntity, Mapping[str, float]], host: str
) -> float | None:
    for name in (host, None):
        rate = quotas.get((QuotaPart(IP, name),), {}).get(CONNECTION_CREATION_RATE)
        if rate is not None:
            return rate
    return None


def _both(user: str | None, client_id: str | None) -> QuotaEntity:
    return (QuotaPart(CLIENT_ID, client_id), QuotaPart(USER, user))
