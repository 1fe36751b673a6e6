"""What a subscription to client metrics may set. None of it acts yet."""

from klamm.base.settings.declare import Setting, accepted
from klamm.base.settings.kinds import Kind

# fmt: off
ROWS: tuple[Setting, ...] = (
    accepted("interval.ms", Kind.INT, 300_000, doc="Time between two messages of a client, from 100 ms to one hour."),
    accepted("match", Kind.LIST, (), doc="Which clients are asked, as `selector=pattern`; all where none is named."),
    accepted("metrics", Kind.LIST, (), doc="Prefixes of the metrics that are asked for; `*` for all, nothing for none."),
)
# fmt: on

# What the left side of a `match` may be.
SELECTORS = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)
