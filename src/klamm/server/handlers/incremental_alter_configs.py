"""IncrementalAlterConfigs (44), v0-1: set, delete, append to or subtract from single configs.

The controller decides; the answer waits until its records are committed.
"""

from __future__ import annotations

from collections.abc import Iterator

from klamm.base.errors import ApiError
from klamm.protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from klamm.server.call import Call
from klamm.server.heavy.portions import refuse_too_many
from klamm.server.metadata.config_resources import refused_here
from klamm.server.metadata.listener_stores import refused_stores


async def handle(
    request: IncrementalAlterConfigsRequest, call: Call
) -> IncrementalAlterConfigsResponse:
    refuse_too_many(sum(1 + len(resource.configs) for resource in request.resources))
    refused = refused_here(request.resources, call)
    refused |= await refused_stores(request.resources, call, refused)
    asked = IncrementalAlterConfigsRequest(
        resources=[each for at, each in enumerate(request.resources) if at not in refused],
        validate_only=request.validate_only,
    )
    answers: Iterator[AlterConfigsResourceResponse] = iter(())
    if asked.resources or not refused:
        answers = iter((await call.forward(asked)).responses)
    return IncrementalAlterConfigsResponse(
        responses=[
            _refused(each.resource_type, each.resource_name, refused[at])
            if at in refused
            else next(answers)
            for at, each in enumerate(request.resources)
        ]
    )


def fail(
    request: IncrementalAlterConfigsRequest, error: ApiError, version: int
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
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
