"""ClientQuotaManager: what each client has used of its quotas, and how long it has to be silent.

While no quota is set it is not asked at all: the short ways past it stay open (dispatch.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from klamm.base.clock import Ms
from klamm.base.settings.broker import Settings
from klamm.metadata.image import ClusterImage, QuotaEntity
from klamm.quota.entities import (
    CONSUMER_BYTE_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Bound,
    bound_for,
    connection_rate_for,
)
from klamm.quota.rate import Rate
from klamm.quota.token_bucket import TokenBucket

_OF_CLIENTS = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE)
# Clients may invent names: from so many on, and whenever they are twice as many again, those that are silent are forgotten.
_MANY = 10_000

_Sharers = tuple[str | None, str | None]


class ClientQuotaManager:
    def __init__(self, settings: Settings) -> None:
        self._windows = cast(int, settings.value("quota.window.num"))
        self._window_ms: Ms = 1000 * cast(int, settings.value("quota.window.size.seconds"))
        self._quotas: Mapping[QuotaEntity, Mapping[str, float]] = {}
        self._bounds: dict[tuple[str, str, str], Bound | None] = {}
        self._rates: dict[tuple[str, _Sharers], Rate] = {}
        self._buckets: dict[str, TokenBucket] = {}
        self._many_rates = self._many_buckets = _MANY
        self._watchers: list[Callable[[bool], None]] = []
        # Whether any client may have to wait; and whether any address may.
        self.is_active = False
        self._limits_addresses = False

    def watch(self, watcher: Callable[[bool], None]) -> None:
        """It hears whether clients have quotas, now and when that changes."""
        self._watchers.append(watcher)
        watcher(self.is_active)

    def follow(self, image: ClusterImage) -> None:
        if image.client_quotas is self._quotas:
            return
        self._quotas = image.client_quotas
        self._bounds.clear()
        was_active = self.is_active
        self.is_active = any(
            key in values for values in self._quotas.values() for key in _OF_CLIENTS
        )
        self._limits_addresses = any(
            part.entity_type == "ip" for entity in self._quotas for part in entity
        )
        if self.is_active != was_active:
            for watcher in self._watchers:
                watcher(self.is_active)

    def charge(self, key: str, user: str, client_id: str, amount: float, now: Ms) -> Ms:
        """Note what was used; how long the client should wait now."""
        bound = self._bound(key, user, client_id)
        if bound is None:
            return 0
        rate = self._rates.get((key, bound.shared_by))
        if rate is None:
            if len(self._rates) >= self._many_rates:
                self._rates = {
                    at: each for at, each in self._rates.items() if not each.is_idle(now)
                }
                self._many_rates = max(_MANY, 2 * len(self._rates))
            rate = self._rates[key, bound.shared_by] = Rate(self._windows, self._window_ms)
        rate.record(amount, now)
        return rate.wait_ms(bound.rate, now)

    def most_in_all_windows(self, key: str, user: str, client_id: str) -> int | None:
        """What may be used in the time over which is measured. None: as much as one likes."""
        bound = self._bound(key, user, client_id)
        if bound is None:
            return None
        return max(1, int(bound.rate * (self._windows - 1) * self._window_ms / 1000))

    @property
    def longest_pause_ms(self) -> Ms:
        """For time that was used up; bytes are waited for as long as it takes."""
        return self._window_ms

    def may_connect(self, host: str, now: Ms) -> bool:
        if not self._limits_addresses:
            return True
        allowed = connection_rate_for(self._quotas, host)
        if allowed is None:
            return True
        bucket = self._buckets.get(host)
        if bucket is None:
            if len(self._buckets) >= self._many_buckets:
                self._buckets = {
                    at: each for at, each in self._buckets.items() if not each.is_full(allowed, now)
                }
                self._many_buckets = max(_MANY, 2 * len(self._buckets))
            bucket = self._buckets[host] = TokenBucket(allowed, now)
        return bucket.take(allowed, now)

    def _bound(self, key: str, user: str, client_id: str) -> Bound | None:
        asked = (key, user, client_id)
        if asked in self._bounds:
            return self._bounds[asked]
        if len(self._bounds) >= _MANY:
            self._bounds.clear()
        bound = self._bounds[asked] = bound_for(self._quotas, key, user, client_id)
        return bound
