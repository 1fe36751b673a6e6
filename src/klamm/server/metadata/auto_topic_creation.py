"""Topics that come into being because somebody asked for them (auto.create.topics.enable), in the background.

Whoever asked is told that there is no such topic and asks again, as with Kafka. Names that are under way are not asked for
twice: a client that repeats its question every few milliseconds starts one creation.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.server.coordination.internal_topics import declaration
from klamm.server.heavy.portions import create_topics

if TYPE_CHECKING:
    from klamm.server.broker import Broker

log = logging.getLogger(__name__)

_FINE = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)


class AutoTopicCreation:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._creating: set[str] = set()

    def create(self, names: list[str]) -> None:
        wanted = [name for name in names if name not in self._creating]
        if wanted:
            self._creating.update(wanted)
            task = asyncio.get_running_loop().create_task(self._create(wanted))
            self._broker.tasks[task] = None
            task.add_done_callback(self._broker.tasks.pop)

    async def _create(self, names: list[str]) -> None:
        settings = self._broker.settings
        request = CreateTopicsRequest(
            topics=[
                declaration(name, settings)
                or CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)
                for name in names
            ]
        )
        try:
            response = await create_topics(request, self._broker, self._broker.controller.ask)
        except ApiError as e:
            log.warning("cannot create topics that clients ask for: %s", e)
        else:
            for topic in response.topics:
                if topic.error_code not in _FINE:
                    log.warning("cannot create the topic %s: %s", topic.name, topic.error_message)
        finally:
            self._creating.difference_update(names)
