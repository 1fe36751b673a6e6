"""IncrementalAlterConfigs (44), v0-1: set, delete, append to or subtract from single configs.

The controller decides; the answer waits until its records are committed.
"""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from klamm.server.call import Call
from klamm.server.heavy.portions import refuse_too_many


async def handle(
    request: IncrementalAlterConfigsRequest, call: Call
) -> IncrementalAlterConfigsResponse:
    refuse_too_many(sum(1 + len(resource.configs) for resource in request.resources))
    return await call.context.controller.ask(request)


def fail(
    request: IncrementalAlterConfigsRequest, error: ApiError, version: int
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
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
