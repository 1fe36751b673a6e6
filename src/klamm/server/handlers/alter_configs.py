"""AlterConfigs (33), v0-2: replace all configs of a topic, broker, group or client-metrics subscription.

The controller decides; the answer waits until its records are committed.
"""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from klamm.server.call import Call
from klamm.server.heavy.portions import refuse_too_many


async def handle(request: AlterConfigsRequest, call: Call) -> AlterConfigsResponse:
    refuse_too_many(sum(1 + len(resource.configs) for resource in request.resources))
    return await call.context.controller.ask(request)


def fail(request: AlterConfigsRequest, error: ApiError, version: int) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                error_code=error.code,
                error_message=error.message,
            )
            for resource in request.resources
        ]
    )
