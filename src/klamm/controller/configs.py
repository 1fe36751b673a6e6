"""Configs of topics, brokers, groups and client metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.settings.topic import TOPIC
from klamm.controller.context import Context
from klamm.controller.decision import Decision
from klamm.metadata.records.configs import ConfigRecord
from klamm.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from klamm.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


class Entry(NamedTuple):
    name: str
    value: str | None
    source: int
    read_only: bool
    sensitive: bool


def for_new_topic(context: Context, topic: str, overrides: Mapping[str, str]) -> list[ConfigRecord]:
    for name, value in overrides.items():
        if name not in TOPIC:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
        TOPIC[name].read(value)
    return [
        ConfigRecord(resource_type=2, resource_name=topic, name=name, value=value)
        for name, value in overrides.items()
    ]


def effective_for_topic(context: Context, overrides: Mapping[str, str]) -> list[Entry]:
    return []


def alter(context: Context, request: AlterConfigsRequest) -> Decision[AlterConfigsResponse]:
    return Decision(AlterConfigsResponse())


def alter_incrementally(context: Context, request: IncrementalAlterConfigsRequest) -> Decision[IncrementalAlterConfigsResponse]:
    return Decision(IncrementalAlterConfigsResponse())
