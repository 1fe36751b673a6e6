"""Dynamic configs of topics, brokers, groups and client-metrics subscriptions: IncrementalAlterConfigs, AlterConfigs.

Each resource of a request stands for itself, and is changed as a whole or not at all. Both requests come down to the
same question: may this resource have these configs instead of those it has? config_rules.py answers it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import IntEnum
from operator import attrgetter

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.settings.describe import Entry, describe_topic
from klamm.controller import config_rules
from klamm.controller.decision import Context, Decision
from klamm.metadata.features import ELR_VERSION
from klamm.metadata.image import ClusterImage, ConfigKey
from klamm.metadata.records.configs import ConfigRecord
from klamm.metadata.records.topics import ClearElrRecord
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages import alter_configs, incremental_alter_configs
from klamm.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from klamm.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

# New texts by name; None takes the config away.
Changes = dict[str, str | None]
_MIN_ISR = "min.insync.replicas"


class Operation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def alter_incrementally(
    context: Context, request: IncrementalAlterConfigsRequest
) -> Decision[IncrementalAlterConfigsResponse]:
    keys = Counter(ConfigKey(each.resource_type, each.resource_name) for each in request.resources)
    responses, records = [], []
    for resource in request.resources:
        key = ConfigKey(resource.resource_type, resource.resource_name)
        response = incremental_alter_configs.AlterConfigsResourceResponse(
            error_message=None, resource_type=key.resource_type, resource_name=key.resource_name
        )
        try:
            config_rules.check_resource(key, times=keys[key])
            changes = _incremental_changes(context.image, key, resource.configs)
            records += _alter(context, key, changes)
        except ApiError as error:
            response.error_code, response.error_message = error.code, error.message
        responses.append(response)
    reply = IncrementalAlterConfigsResponse(responses=responses)
    return Decision(reply, () if request.validate_only else records)


def alter(context: Context, request: AlterConfigsRequest) -> Decision[AlterConfigsResponse]:
    """The old way: what the request does not name is taken away."""
    keys = Counter(ConfigKey(each.resource_type, each.resource_name) for each in request.resources)
    responses, records = [], []
    for resource in request.resources:
        key = ConfigKey(resource.resource_type, resource.resource_name)
        response = alter_configs.AlterConfigsResourceResponse(
            error_message=None, resource_type=key.resource_type, resource_name=key.resource_name
        )
        try:
            if key.resource_type == ResourceType.BROKER_LOGGER:
                raise config_rules.unknown_resource(key)
            config_rules.check_resource(key, times=keys[key])
            config_rules.check_names(config.name for config in resource.configs)
            config_rules.check_values({each.name: each.value for each in resource.configs})
            changes: Changes = {each.name: each.value for each in resource.configs}
            gone = [name for name in context.image.config(*key) if name not in changes]
            records += _alter(context, key, {**changes, **dict.fromkeys(gone)})
        except ApiError as error:
            response.error_code, response.error_message = error.code, error.message
        responses.append(response)
    return Decision(
        AlterConfigsResponse(responses=responses), () if request.validate_only else records
    )


def for_new_topic(context: Context, topic: str, overrides: Mapping[str, str]) -> list[ConfigRecord]:
    """The records of a topic's first configs; raises if it may not have them."""
    key = ConfigKey(ResourceType.TOPIC, topic)
    config_rules.check_configs(context, key, overrides)
    return [_record(key, name, value) for name, value in overrides.items()]


def effective_for_topic(context: Context, overrides: Mapping[str, str]) -> list[Entry]:
    """Everything that will hold for a topic with these overrides, by name."""
    return sorted(describe_topic(overrides, context.layers), key=attrgetter("name"))


def _incremental_changes(
    image: ClusterImage,
    key: ConfigKey,
    configs: Sequence[incremental_alter_configs.AlterableConfig],
) -> Changes:
    config_rules.check_names(config.name for config in configs)
    config_rules.check_values(
        {each.name: each.value for each in configs if each.config_operation != Operation.DELETE}
    )
    current = image.config(*key)
    changes: Changes = {}
    for config in configs:
        try:
            operation = Operation(config.config_operation)
        except ValueError:
            text = f"Unknown operation {config.config_operation} for {config.name}."
            raise ApiError(ErrorCode.INVALID_REQUEST, text) from None
        if key.resource_type == ResourceType.BROKER_LOGGER:
            config_rules.check_logger(config.name, operation.name, config.value)
        changes[config.name] = _new_value(key, operation, config, current)
    return changes


def _new_value(
    key: ConfigKey,
    operation: Operation,
    config: incremental_alter_configs.AlterableConfig,
    current: Mapping[str, str],
) -> str | None:
    if operation is Operation.DELETE:
        return None
    assert config.value is not None
    if operation is Operation.SET:
        return config.value
    before = config_rules.list_value(key, config.name, current, operation.name)
    named = config.value.split(",")
    if operation is Operation.APPEND:
        return ",".join(dict.fromkeys([*before, *named]))
    return ",".join(each for each in before if each not in named)


def _alter(context: Context, key: ConfigKey, changes: Changes) -> list[object]:
    """The records of a change; those that say nothing new are left out, except for brokers, who reload then."""
    current = context.image.config(*key)
    after = {name: value for name, value in {**current, **changes}.items() if value is not None}
    config_rules.check_configs(context, key, after)
    config_rules.check_min_isr(context.image, key, changes)
    config_rules.check_existence(context.image, key)
    is_broker = key.resource_type == ResourceType.BROKER
    records: list[object] = [
        _record(key, name, value)
        for name, value in changes.items()
        if is_broker or current.get(name) != value
    ]
    if any(isinstance(each, ConfigRecord) and each.name == _MIN_ISR for each in records):
        records += _clear_elr(context.image, key)
    return records


def _clear_elr(image: ClusterImage, key: ConfigKey) -> list[ClearElrRecord]:
    """Who may lead was decided under another minimum, so it is decided anew. An empty name is all topics."""
    if not image.features.get(ELR_VERSION):
        return []
    if key.resource_type == ResourceType.TOPIC:
        return [ClearElrRecord(topic_name=key.resource_name)]
    return [ClearElrRecord(topic_name="")] if key == config_rules.CLUSTER else []


def _record(key: ConfigKey, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(
        resource_type=key.resource_type, resource_name=key.resource_name, name=name, value=value
    )
