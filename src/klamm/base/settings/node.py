"""Who this node is: its number, its roles, where it stands."""

from dataclasses import dataclass

from klamm.base.settings.checks import ListOf
from klamm.base.settings.declare import LONG_MAX, Mode, Setting, accepted, row, setting
from klamm.base.settings.kinds import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    process_roles: tuple[str, ...] = setting(
        "process.roles",
        Kind.LIST,
        None,
        check=ListOf(("broker", "controller"), may_be_empty=False),
        doc="What this process is: `broker`, `controller` or both. Without it klamm runs as both, alone.",
    )
    node_id: int = setting(
        "node.id",
        Kind.INT,
        None,
        at_least=0,
        doc="Number of this node, unique in the cluster. Needed wherever `process.roles` is set.",
    )
    rack: str | None = setting(
        "broker.rack",
        Kind.STRING,
        None,
        doc="Rack or zone of the broker, told to clients and used to spread replicas.",
    )

    registration_timeout_ms: int = setting(
        "initial.broker.registration.timeout.ms",
        Kind.INT,
        60_000,
        doc="Time a new broker may take to register with the controller.",
    )
    heartbeat_interval_ms: int = setting(
        "broker.heartbeat.interval.ms",
        Kind.INT,
        2_000,
        doc="Time between two heartbeats of a broker to the controller.",
    )
    session_timeout_ms: int = setting(
        "broker.session.timeout.ms",
        Kind.INT,
        9_000,
        doc="Time without a heartbeat after which the controller fences a broker.",
    )
    controlled_shutdown: bool = setting(
        "controlled.shutdown.enable",
        Kind.BOOLEAN,
        True,
        doc="Let a stopping broker hand over its leaderships first.",
    )

    @property
    def is_broker(self) -> bool:
        return "broker" in self.process_roles

    @property
    def is_controller(self) -> bool:
        return "controller" in self.process_roles


# fmt: off
ROWS: tuple[Setting, ...] = (
    row("broker.id", Kind.INT, -1, doc="Old name of `node.id`; where both are set they must agree."),
    accepted("config.providers", Kind.LIST, (), mode=Mode.CLUSTER_WIDE, doc="Names of plug-ins that resolve `${...}` in values."),
    accepted("num.io.threads", Kind.INT, 8, at_least=1, mode=Mode.CLUSTER_WIDE, doc="Threads that handle requests in Kafka; klamm handles them in one loop."),
    accepted("background.threads", Kind.INT, 10, at_least=1, mode=Mode.CLUSTER_WIDE, doc="Threads for background work in Kafka."),
    accepted("unstable.api.versions.enable", Kind.BOOLEAN, False, hidden=True, doc="Serve API versions that are not final."),
    accepted("unstable.feature.versions.enable", Kind.BOOLEAN, False, hidden=True, doc="Allow feature levels that are not final."),
    accepted("server.max.startup.time.ms", Kind.LONG, LONG_MAX, at_least=0, hidden=True, doc="Longest time the start may take."),
)
# fmt: on
