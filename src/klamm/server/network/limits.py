"""The numbers: how many connections, how large a frame, how long anything may take, how much memory for it all.

Most come from settings; what nobody would want to change is a constant here, told in docs/operations.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from klamm.base.settings.network import NetworkSettings
from klamm.server.world.ports import Machine

# queued.max.request.bytes is -1 unless somebody sets it. Kafka then has no limit; here it is a share of the memory.
_SHARE_OF_MEMORY = 4
_MOST_MEMORY = 512 << 20
# max.connections is without limit unless somebody sets it. The files of the log need descriptors as well.
_SHARE_OF_FILES = 0.8
# Kafka's 50 are gone in two milliseconds when a thousand clients come back at once; who is dropped tries again after a
# second. The kernel cuts it to its own limit.
_LEAST_BACKLOG = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    max_request_bytes: int
    # For parts of frames, parked requests and answers that nobody reads, over all connections.
    max_held_bytes: int
    max_connections: int
    max_connections_per_ip: int
    connections_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    # New ones in a second.
    max_connection_rate: int
    # None: connections may idle for ever.
    max_idle_seconds: float | None
    backlog: int

    # A connection that says nothing is not a client.
    first_request_seconds: float = 30.0
    # In this time a frame must be complete, in either direction, or have moved on by LEAST_PROGRESS.
    frame_seconds: float = 60.0
    # The same while others wait for the memory.
    frame_seconds_when_short: float = 5.0
    # Requests up to this size do not wait for memory: a batch of the usual largest size is one.
    small_request_bytes: int = 2 * 1024 * 1024
    # How long the one who may go on, though the memory is used up, has for its frame.
    turn_seconds: float = 10.0
    # What is left to send when a connection is closed.
    linger_seconds: float = 10.0
    # How long the loop looks for the next request before it sleeps (busy_poll.py).
    busy_poll_seconds: float = 0.0


def limits_of(network: NetworkSettings, machine: Machine) -> Limits:
    """The limits of a node: its settings, and what the machine allows."""
    held = network.queued_max_request_bytes
    idle_ms = network.connections_max_idle_ms
    return Limits(
        max_request_bytes=network.socket_request_max_bytes,
        max_held_bytes=held
        if held > 0
        else min(machine.memory_bytes // _SHARE_OF_MEMORY, _MOST_MEMORY),
        max_connections=min(network.max_connections, int(machine.open_files * _SHARE_OF_FILES)),
        max_connections_per_ip=network.max_connections_per_ip,
        connections_per_ip_overrides=network.connections_per_ip_overrides(),
        max_connection_rate=network.max_connection_creation_rate,
        max_idle_seconds=None if idle_ms < 0 else idle_ms / 1000,
        first_request_seconds=network.first_request_timeout_ms / 1000,
        frame_seconds=network.progress_timeout_ms / 1000,
        # With a single core it would keep the client from asking.
        busy_poll_seconds=network.busy_poll_us / 1e6 if machine.cores > 1 else 0.0,
        backlog=max(network.socket_listen_backlog_size, _LEAST_BACKLOG),
    )


# A frame that moves by less than this in its time has stopped.
LEAST_PROGRESS = 64 * 1024
# What one read of a large frame takes at most.
READ_AT_ONCE = 1024 * 1024
# Small answers are gathered up to this size before they are written.
GATHER_BYTES = 64 * 1024
# Reads of this size may be followed by more of them at once.
LARGE_READ = 64 * 1024
