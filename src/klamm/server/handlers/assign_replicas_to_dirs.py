"""AssignReplicasToDirs (73), v0: a broker tells in which of its directories it keeps which replica (KIP-858)."""

from __future__ import annotations

from klamm.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from klamm.server.call import Call


async def handle(request: AssignReplicasToDirsRequest, call: Call) -> AssignReplicasToDirsResponse:
    return await call.context.controller.ask(request)
