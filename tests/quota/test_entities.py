"""Whose quota holds: the most special one, in Kafka's order."""

import pytest

from klamm.metadata.image import QuotaEntity, QuotaPart
from klamm.quota.entities import bound_for, connection_rate_for

KEY = "producer_byte_rate"


def of(user: str | bool | None = False, client: str | bool | None = False) -> QuotaEntity:
    """False: the part is not named; None: its default."""
    parts = [("client-id", client), ("user", user)]
    return tuple(QuotaPart(kind, name) for kind, name in parts if not isinstance(name, bool))


# From the most general to the most special, and who shares each.
IN_ORDER = [
    (of(client=None), (None, "app")),
    (of(client="app"), (None, "app")),
    (of(user=None), ("ann", None)),
    (of(user=None, client=None), ("ann", "app")),
    (of(user=None, client="app"), ("ann", "app")),
    (of(user="ann"), ("ann", None)),
    (of(user="ann", client=None), ("ann", "app")),
    (of(user="ann", client="app"), ("ann", "app")),
]


@pytest.mark.parametrize("count", range(1, len(IN_ORDER) + 1))
def test_the_most_special_one_holds(count: int) -> None:
    quotas = {entity: {KEY: float(at)} for at, (entity, _) in enumerate(IN_ORDER[:count])}

    bound = bound_for(quotas, KEY, "ann", "app")

    assert bound == (float(count - 1), IN_ORDER[count - 1][1])


def test_who_is_not_meant_has_none() -> None:
    quotas = {of(user="bob"): {KEY: 1.0}, of(user="ann"): {"consumer_byte_rate": 1.0}}

    assert bound_for(quotas, KEY, "ann", "app") is None


def test_an_address_has_its_own_rate_or_everybodys() -> None:
    quotas = {
        (QuotaPart("ip", "10.0.0.1"),): {"connection_creation_rate": 5.0},
        (QuotaPart("ip", None),): {"connection_creation_rate": 9.0},
    }

    assert connection_rate_for(quotas, "10.0.0.1") == 5.0
    assert connection_rate_for(quotas, "10.0.0.2") == 9.0
    assert connection_rate_for({}, "10.0.0.2") is None
