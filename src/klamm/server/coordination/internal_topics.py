"""The coordinators' own topics: what they are called, how they are set up, and that they exist when they are needed."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.settings.broker import Settings
from klamm.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)

if TYPE_CHECKING:
    from klamm.server.broker import Broker

log = logging.getLogger(__name__)

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
SHARE_TOPIC = "__share_group_state"
INTERNAL_TOPICS = frozenset((OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_TOPIC))


def declaration(name: str, settings: Settings) -> CreatableTopic | None:
    """How Kafka sets this topic up; None if it is none of ours."""
    if name == OFFSETS_TOPIC:
        group = settings.group
        return _declare(
            name,
            group.offsets_topic_num_partitions,
            group.offsets_topic_replication_factor,
            {
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(group.offsets_topic_segment_bytes),
            },
        )
    if name == TRANSACTIONS_TOPIC:
        transaction = settings.transaction
        return _declare(
            name,
            transaction.transaction_state_log_num_partitions,
            transaction.transaction_state_log_replication_factor,
            {
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "min.insync.replicas": str(transaction.transaction_state_log_min_isr),
                "segment.bytes": str(transaction.transaction_state_log_segment_bytes),
                "unclean.leader.election.enable": "false",
            },
        )
    return None


def _declare(name: str, partitions: int, replicas: int, configs: dict[str, str]) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        configs=[CreatableTopicConfig(name=key, value=text) for key, text in configs.items()],
    )


class InternalTopics:
    """Creates what is missing; of many who ask at once one does it and all wait for it."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._creating: dict[str, asyncio.Task[bool]] = {}

    def exists(self, name: str) -> bool:
        """With all its partitions: while it is being created some are not led yet."""
        return name in self._broker.image.topics_by_name and name not in self._creating

    async def create(self, name: str) -> bool:
        """Whether the topic is there now."""
        task = self._creating.get(name)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._create(name))
            self._creating[name] = task
            task.add_done_callback(lambda _: self._creating.pop(name))
        # A client that goes away takes only itself out of the waiting.
        return await asyncio.shield(task)

    async def _create(self, name: str) -> bool:
        topic = declaration(name, self._broker.settings)
        assert topic is not None
        try:
            response = await self._broker.controller.ask(CreateTopicsRequest(topics=[topic]))
        except ApiError as e:
            log.warning("cannot create the topic %s: %s", name, e)
            return False
        (result,) = response.topics
        if result.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            log.warning("cannot create the topic %s: %s", name, result.error_message)
            return False
        return True
