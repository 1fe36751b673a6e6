"""AlterConfigs (33), v0-2: replace all configs of a topic, broker, group or client-metrics subscription.

The controller decides; the answer waits until its records are committed.
"""

from __future__ import annotations

from collections.abc import Iterator

from klamm.base.errors import ApiError
from klamm.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from klamm.server.call import Call
from klamm.server.heavy.portions import refuse_too_many
from klamm.server.metadata.config_resources import refused_here


async def handle(request: AlterConfigsRequest, call: Call) -> AlterConfigsResponse:
    refuse_too_many(sum(1 + len(resource.configs) for resource in request.resources))
    refused = refused_here(request.resources, call)
    asked = AlterConfigsRequest(
        resources=[each for at, each in enumerate(request.resources) if at not in refused],
        validate_only=request.validate_only,
    )
    answers: Iterator[AlterConfigsResourceResponse] = iter(())
    if asked.resources or not refused:
        answers = iter((await call.forward(asked)).responses)
    return AlterConfigsResponse(
        responses=[
            _refused(each.resource_type, each.resource_name, refused[at])
            if at in refused
            else next(answers)
            for at, each in enumerate(request.resources)
        ]
    )


def fail(request: AlterConfigsRequest, error: ApiError, version: int) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=[
            _refused(resource.resource_type, resource.resource_name, error)
            for resource in request.resources
        ]
    )


def _refused(
    resource_type: int, resource_name: str, error: ApiError
) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        resource_type=resource_type,
        resource_name=resource_name,
        error_code=error.code,
        error_message=error.message,
    )
