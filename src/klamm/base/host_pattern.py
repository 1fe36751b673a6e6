"""From where: an address, all (*), or a network in CIDR notation (KIP-1276)."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from klamm.base.acl import WILDCARD


def covers(pattern: str, host: str) -> bool:
    """A network that is none covers nobody; CreateAcls takes none of those, but a log may have one."""
    if pattern in (WILDCARD, host):
        return True
    if "/" not in pattern:
        return False
    network, address = network_of(pattern), _address_of(host)
    return network is not None and address is not None and address in network


@lru_cache(maxsize=4096)
def network_of(pattern: str) -> IPv4Network | IPv6Network | None:
    """None if it is not one."""
    try:
        return ip_network(pattern, strict=False)
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _address_of(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
