"""Topics: create, delete, describe, list, grow."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from klamm.base.ids import Uuid
from klamm.client.cluster import NO_SUCH_THING, Cluster
from klamm.client.errors import check
from klamm.client.metadata import TopicView
from klamm.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from klamm.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from klamm.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

# As the broker's settings say.
BROKER_DEFAULT = -1


class TopicAdmin:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def create(
        self,
        name: str,
        *,
        partitions: int = BROKER_DEFAULT,
        replication_factor: int = BROKER_DEFAULT,
        replicas: Mapping[int, Sequence[int]] | None = None,
        configs: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> Uuid:
        """`replicas` places every partition by hand, instead of the two numbers."""
        placed = [
            CreatableReplicaAssignment(partition_index=index, broker_ids=list(brokers))
            for index, brokers in (replicas or {}).items()
        ]
        topic = CreatableTopic(
            name=name,
            num_partitions=BROKER_DEFAULT if placed else partitions,
            replication_factor=BROKER_DEFAULT if placed else replication_factor,
            assignments=placed,
            configs=[
                CreatableTopicConfig(name=key, value=value)
                for key, value in (configs or {}).items()
            ],
        )
        request = CreateTopicsRequest(
            topics=[topic],
            timeout_ms=self._cluster.settings.request_timeout_ms,
            validate_only=validate_only,
        )

        async def attempt() -> Uuid:
            answer = await self._cluster.ask_any(request, CreateTopicsResponse)
            (made,) = answer.topics
            check(made.error_code, made.error_message)
            return made.topic_id

        return await self._cluster.persist(attempt, never=NO_SUCH_THING)

    async def delete(self, name: str) -> None:
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name)],
            topic_names=[name],
            timeout_ms=self._cluster.settings.request_timeout_ms,
        )

        async def attempt() -> None:
            answer = await self._cluster.ask_any(request, DeleteTopicsResponse)
            (gone,) = answer.responses
            check(gone.error_code, gone.error_message)

        await self._cluster.persist(attempt, never=NO_SUCH_THING)

    async def add_partitions(
        self, name: str, total: int, *, replicas: Sequence[Sequence[int]] | None = None
    ) -> None:
        """`total` is how many there are afterwards; `replicas` places the new ones."""
        placed = (
            None
            if replicas is None
            else [CreatePartitionsAssignment(broker_ids=list(brokers)) for brokers in replicas]
        )
        request = CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name=name, count=total, assignments=placed)],
            timeout_ms=self._cluster.settings.request_timeout_ms,
        )

        async def attempt() -> None:
            answer = await self._cluster.ask_any(request, CreatePartitionsResponse)
            (grown,) = answer.results
            check(grown.error_code, grown.error_message)

        await self._cluster.persist(attempt, never=NO_SUCH_THING)

    async def describe(self, name: str) -> TopicView:
        """As one broker knows it. A moment after its creation, another broker may not have heard of it."""

        async def attempt() -> TopicView:
            await self._cluster.refresh([name])
            view = self._cluster.view
            if name not in view.topics:
                check(view.errors[name])
            return view.topics[name]

        return await self._cluster.persist(attempt, never=NO_SUCH_THING)

    async def list(self, *, internal: bool = False) -> Collection[TopicView]:
        await self._cluster.persist(lambda: self._cluster.refresh(None))
        topics = self._cluster.view.topics.values()
        return [topic for topic in topics if internal or not topic.is_internal]
