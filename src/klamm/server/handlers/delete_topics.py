"""DeleteTopics (20), v1-6: remove topics and all their records.

The controller decides; the answer waits until its records are committed.
v6  by name or by id
"""

from __future__ import annotations

from klamm.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from klamm.server.call import Call


async def handle(request: DeleteTopicsRequest, call: Call) -> DeleteTopicsResponse:
    return await call.broker.quorum.submit(
        lambda controller, now: controller.delete_topics(request, now)
    )
