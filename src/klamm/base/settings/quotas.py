"""Quotas and throttles. Those of clients and of moves between directories act."""

from klamm.base.settings.declare import LONG_MAX, Mode, Setting, accepted, row
from klamm.base.settings.kinds import Kind

# fmt: off
ROWS: tuple[Setting, ...] = (
    row("quota.window.num", Kind.INT, 11, at_least=1, doc="Windows over which client quotas are measured."),
    row("quota.window.size.seconds", Kind.INT, 1, at_least=1, doc="Length of a window over which client quotas are measured."),
    accepted("replication.quota.window.num", Kind.INT, 11, at_least=1, doc="Windows over which replication throttles are measured."),
    accepted("replication.quota.window.size.seconds", Kind.INT, 1, at_least=1, doc="Length of a window over which replication throttles are measured."),
    accepted("alter.log.dirs.replication.quota.window.num", Kind.INT, 11, at_least=1, doc="Windows over which moves between data directories are measured."),
    accepted("alter.log.dirs.replication.quota.window.size.seconds", Kind.INT, 1, at_least=1, doc="Length of a window over which moves between data directories are measured."),
    accepted("controller.quota.window.num", Kind.INT, 11, at_least=1, doc="Windows over which topic changes are measured."),
    accepted("controller.quota.window.size.seconds", Kind.INT, 1, at_least=1, doc="Length of a window over which topic changes are measured."),
    accepted("client.quota.callback.class", Kind.CLASS, None, doc="Java class that decides client quotas."),
)
# fmt: on

# Known only as dynamic settings: a config file may not name them, and they are shown where they are set.
# fmt: off
DYNAMIC_ONLY: tuple[Setting, ...] = (
    accepted("leader.replication.throttled.rate", Kind.LONG, LONG_MAX, at_least=0, mode=Mode.CLUSTER_WIDE, doc="Most bytes per second that a leader sends to throttled replicas."),
    accepted("follower.replication.throttled.rate", Kind.LONG, LONG_MAX, at_least=0, mode=Mode.CLUSTER_WIDE, doc="Most bytes per second that a follower fetches for throttled replicas."),
    row("replica.alter.log.dirs.io.max.bytes.per.second", Kind.LONG, LONG_MAX, at_least=0, mode=Mode.CLUSTER_WIDE, doc="Most bytes per second moved between data directories."),
)
# fmt: on
