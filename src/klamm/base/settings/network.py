"""Connections, requests and their limits."""

from dataclasses import dataclass

from klamm.base.settings.declare import INT_MAX, Mode, Setting, accepted, row, setting
from klamm.base.settings.kinds import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    socket_request_max_bytes: int = setting(
        "socket.request.max.bytes",
        Kind.INT,
        100 << 20,
        at_least=1,
        doc="Largest request frame; a larger one closes the connection before anything is allocated.",
    )
    socket_send_buffer_bytes: int = setting(
        "socket.send.buffer.bytes",
        Kind.INT,
        102_400,
        effective=False,
        doc="Send buffer asked of the kernel for each connection; -1 leaves its default.",
    )
    socket_receive_buffer_bytes: int = setting(
        "socket.receive.buffer.bytes",
        Kind.INT,
        102_400,
        effective=False,
        doc="Receive buffer asked of the kernel for each connection; -1 leaves its default.",
    )
    socket_listen_backlog_size: int = setting(
        "socket.listen.backlog.size",
        Kind.INT,
        50,
        at_least=1,
        doc="Connections that may wait to be accepted.",
    )
    connections_max_idle_ms: int = setting(
        "connections.max.idle.ms",
        Kind.LONG,
        600_000,
        doc="Idle time after which a connection is closed; negative for never.",
    )
    max_connections: int = setting(
        "max.connections",
        Kind.INT,
        INT_MAX,
        at_least=0,
        mode=Mode.CLUSTER_WIDE,
        doc="Most connections at one time, and at most 80 % of the open files allowed; further ones wait.",
    )
    max_connections_per_ip: int = setting(
        "max.connections.per.ip",
        Kind.INT,
        INT_MAX,
        at_least=0,
        mode=Mode.CLUSTER_WIDE,
        doc="Most connections at one time from one address.",
    )
    max_connections_per_ip_overrides: str = setting(
        "max.connections.per.ip.overrides",
        Kind.STRING,
        "",
        mode=Mode.CLUSTER_WIDE,
        doc="Other limits for single addresses, as host:count pairs.",
    )
    max_connection_creation_rate: int = setting(
        "max.connection.creation.rate",
        Kind.INT,
        INT_MAX,
        at_least=0,
        mode=Mode.CLUSTER_WIDE,
        doc="Most new connections per second; further ones wait to be accepted.",
    )
    queued_max_request_bytes: int = setting(
        "queued.max.request.bytes",
        Kind.LONG,
        -1,
        doc="Memory for requests that are not complete or wait and for answers that are not read, over all "
        "connections; -1 for a quarter of the machine's, 512 MiB at most.",
    )
    fetch_max_bytes: int = setting(
        "fetch.max.bytes",
        Kind.INT,
        55 << 20,
        at_least=1024,
        doc="Most record bytes in one fetch answer, whatever the client asks for.",
    )
    fetch_session_cache_slots: int = setting(
        "max.incremental.fetch.session.cache.slots",
        Kind.INT,
        1000,
        at_least=0,
        doc="Incremental fetch sessions that are kept at one time.",
    )
    # Limits that Kafka does not have. Its clients do not expect them, so they are not shown.
    max_fetch_session_partitions: int = setting(
        "klamm.max.fetch.session.partitions",
        Kind.INT,
        250_000,
        at_least=0,
        hidden=True,
        doc="Most partitions in all incremental fetch sessions together.",
    )
    first_request_timeout_ms: int = setting(
        "klamm.first.request.timeout.ms",
        Kind.INT,
        30_000,
        at_least=1,
        hidden=True,
        doc="Time after which a connection that never asked anything is closed.",
    )
    progress_timeout_ms: int = setting(
        "klamm.progress.timeout.ms",
        Kind.INT,
        60_000,
        at_least=1,
        hidden=True,
        doc="Time in which a request or an answer must be complete, or have moved on by 64 KiB.",
    )
    busy_poll_us: int = setting(
        "klamm.busy.poll.us",
        Kind.INT,
        100,
        at_least=0,
        hidden=True,
        doc="Time for which a busy broker looks for the next request before it sleeps, on two cores or more; 0 for never.",
    )
    max_request_partition_size_limit: int = setting(
        "max.request.partition.size.limit",
        Kind.INT,
        2000,
        at_least=1,
        doc="Most partitions in one answer of DescribeTopicPartitions.",
    )
    request_timeout_ms: int = setting(
        "request.timeout.ms",
        Kind.INT,
        30_000,
        effective=False,
        doc="Longest wait for an answer of another node.",
    )

    def connections_per_ip_overrides(self) -> dict[str, int]:
        pairs = (pair.rpartition(":") for pair in self.max_connections_per_ip_overrides.split(","))
        return {host.strip(): int(count) for host, colon, count in pairs if colon}


# fmt: off
ROWS: tuple[Setting, ...] = (
    accepted("num.network.threads", Kind.INT, 3, at_least=1, mode=Mode.CLUSTER_WIDE, doc="Threads that read and write sockets in Kafka; klamm does it in one loop."),
    accepted("queued.max.requests", Kind.INT, 500, at_least=1, doc="Requests that may wait for a handler in Kafka before its network threads stop reading."),
    row("connection.failed.authentication.delay.ms", Kind.INT, 100, at_least=0, doc="Time by which the answer to a failed login is held back."),
    accepted("socket.connection.setup.timeout.ms", Kind.LONG, 10_000, doc="Longest wait for a connection to another node."),
    accepted("socket.connection.setup.timeout.max.ms", Kind.LONG, 30_000, doc="Longest wait for a connection to another node after repeated failures."),
    accepted("fetch.purgatory.purge.interval.requests", Kind.INT, 1_000, doc="How often Kafka sweeps finished fetches from its waiting room."),
    accepted("producer.purgatory.purge.interval.requests", Kind.INT, 1_000, doc="How often Kafka sweeps finished produces from its waiting room."),
    accepted("delete.records.purgatory.purge.interval.requests", Kind.INT, 1, doc="How often Kafka sweeps finished DeleteRecords from its waiting room."),
)
# fmt: on
