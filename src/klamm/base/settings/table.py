"""Every row of the settings table, by resource and name."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from klamm.base.settings import (
    authorization,
    cleaner,
    client_metrics,
    group,
    group_overrides,
    listeners,
    log,
    metrics,
    network,
    node,
    quorum,
    quotas,
    remote,
    replication,
    sasl,
    security,
    share,
    ssl,
    topics,
    transaction,
)
from klamm.base.settings.declare import Setting, settings_of

# The chapters of docs/config.md, in reading order.
THEMES: Mapping[str, tuple[Setting, ...]] = MappingProxyType(
    {
        "Node": (*settings_of(node.NodeSettings).values(), *node.ROWS),
        "Listeners": (*settings_of(listeners.ListenerSettings).values(), *listeners.ROWS),
        "Network and requests": (*settings_of(network.NetworkSettings).values(), *network.ROWS),
        "Topics": (*settings_of(topics.TopicsSettings).values(), *topics.ROWS),
        "Log": (*settings_of(log.LogSettings).values(), *log.ROWS),
        "Log cleaner": (*settings_of(cleaner.CleanerSettings).values(), *cleaner.ROWS),
        "Defaults for topics": log.TOPIC_DEFAULTS,
        "Quorum and metadata": (*settings_of(quorum.QuorumSettings).values(), *quorum.ROWS),
        "Replication": (
            *settings_of(replication.ReplicationSettings).values(),
            *replication.ROWS,
        ),
        "Groups": (*settings_of(group.GroupSettings).values(), *group.ROWS),
        "Share groups": share.ROWS,
        "Transactions": (*settings_of(transaction.TransactionSettings).values(), *transaction.ROWS),
        "Authorization": tuple(settings_of(authorization.AuthorizationSettings).values()),
        "TLS and delegation tokens": (*settings_of(ssl.SslSettings).values(), *security.ROWS),
        "SASL": sasl.ROWS,
        "Quotas": quotas.ROWS,
        "Metrics": metrics.ROWS,
        "Tiered storage": remote.ROWS,
    }
)


def _by_name(rows: Iterable[Setting]) -> Mapping[str, Setting]:
    return MappingProxyType({declared.name: declared for declared in rows})


BROKER = _by_name(declared for rows in THEMES.values() for declared in rows)
AUTHORIZER = _by_name(settings_of(authorization.StandardAuthorizerSettings).values())
DYNAMIC_ONLY = _by_name(quotas.DYNAMIC_ONLY)
GROUP = _by_name(group_overrides.ROWS)
CLIENT_METRICS = _by_name(client_metrics.ROWS)

LISTENER_PREFIX = "listener.name."
# Settings of plug-ins: whatever follows the prefix is theirs.
PLUGIN_PREFIXES = ("rsm.config.", "rlmm.config.", "config.providers.", "metrics.context.")


def find_broker_setting(name: str) -> Setting | None:
    """The row behind a broker's key, also behind `listener.name.<listener>.[<mechanism>.]<setting>`."""
    for table in (BROKER, AUTHORIZER, DYNAMIC_ONLY):
        if name in table:
            return table[name]
    if (inner := without_listener(name)) is None:
        return None
    return BROKER.get(inner) or BROKER.get(inner.partition(".")[2])


def without_listener(name: str) -> str | None:
    """`listener.name.<listener>.x.y` gives `x.y`; any other name gives None."""
    if not name.startswith(LISTENER_PREFIX):
        return None
    return name.removeprefix(LISTENER_PREFIX).partition(".")[2] or None
