"""Key and trust stores that a client wants a listener of this node to have: tried before the controller is asked."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.settings.declare import InvalidValueError
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages.incremental_alter_configs import AlterConfigsResource
from klamm.server.call import Call
from klamm.server.metadata.config_resources import dynamic_configs
from klamm.server.world.ports import BadStore


async def refused_stores(
    resources: Sequence[AlterConfigsResource], call: Call, refused: Collection[int]
) -> dict[int, ApiError]:
    """The places of those that would leave a listener without good certificates; those that are refused anyway are not tried."""
    if call.connection.listener.is_controller or call.broker.certificates.is_empty:
        return {}
    bad = {}
    for at, each in enumerate(resources):
        if at not in refused and _is_of(each, call.broker.node_id):
            error = await _problem_with(each, call)
            if error is not None:
                bad[at] = error
    return bad


def _is_of(resource: AlterConfigsResource, node_id: int) -> bool:
    return resource.resource_type == ResourceType.BROKER and resource.resource_name == str(node_id)


async def _problem_with(resource: AlterConfigsResource, call: Call) -> ApiError | None:
    broker = call.broker
    after = dynamic_configs(broker.image, broker.node_id)
    for config in resource.configs:
        if config.value is None:
            after.pop(config.name, None)
        else:
            after[config.name] = config.value
    try:
        await broker.certificates.check(after)
    except BadStore as e:
        return ApiError(ErrorCode.INVALID_REQUEST, f"Invalid value: {e}")
    except InvalidValueError:
        # The controller has the words for it.
        return None
    return None
