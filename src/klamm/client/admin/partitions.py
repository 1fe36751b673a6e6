"""Partitions: who leads them, and moving them to other brokers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client.cluster import NO_SUCH_THING, Cluster
from klamm.client.errors import check, error_of
from klamm.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from klamm.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from klamm.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


class Reassignment(NamedTuple):
    """A partition on the move: all its replicas, and those of them that come and go."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class PartitionAdmin:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def elect_leaders(
        self, partitions: Collection[TopicPartition] | None = None, *, unclean: bool = False
    ) -> dict[TopicPartition, ApiError | None]:
        """Let the first replica lead, or with `unclean` anybody who lives where nobody does, whatever is lost by it.

        None stands for all partitions that are not led as they should be. Each has an error, or none.
        """
        asked = None
        if partitions is not None:
            asked = [
                TopicPartitions(topic=topic, partitions=numbers)
                for topic, numbers in _by_topic(partitions).items()
            ]
        request = ElectLeadersRequest(
            election_type=int(unclean),
            topic_partitions=asked,
            timeout_ms=self._cluster.settings.request_timeout_ms,
        )

        async def attempt() -> dict[TopicPartition, ApiError | None]:
            answer = await self._cluster.ask_any(request, ElectLeadersResponse)
            check(answer.error_code)
            return {
                TopicPartition(topic.topic, each.partition_id): _error(
                    each.error_code, each.error_message
                )
                for topic in answer.replica_election_results
                for each in topic.partition_result
            }

        return await self._cluster.persist(attempt)

    async def reassign(
        self, replicas: Mapping[TopicPartition, Sequence[int] | None]
    ) -> dict[TopicPartition, ApiError | None]:
        """Move each partition to these brokers, the leader first; None takes a move back that is under way."""
        topics = [
            ReassignableTopic(
                name=topic,
                partitions=[
                    ReassignablePartition(
                        partition_index=number, replicas=_list(replicas, topic, number)
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in _by_topic(replicas).items()
        ]
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=self._cluster.settings.request_timeout_ms, topics=topics
        )

        async def attempt() -> dict[TopicPartition, ApiError | None]:
            answer = await self._cluster.ask_any(request, AlterPartitionReassignmentsResponse)
            check(answer.error_code, answer.error_message)
            return {
                TopicPartition(topic.name, each.partition_index): _error(
                    each.error_code, each.error_message
                )
                for topic in answer.responses
                for each in topic.partitions
            }

        return await self._cluster.persist(attempt, never=NO_SUCH_THING)

    async def reassignments(self) -> dict[TopicPartition, Reassignment]:
        """All partitions on the move."""
        request = ListPartitionReassignmentsRequest(
            timeout_ms=self._cluster.settings.request_timeout_ms
        )

        async def attempt() -> dict[TopicPartition, Reassignment]:
            answer = await self._cluster.ask_any(request, ListPartitionReassignmentsResponse)
            check(answer.error_code, answer.error_message)
            return {
                TopicPartition(topic.name, each.partition_index): Reassignment(
                    tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
                )
                for topic in answer.topics
                for each in topic.partitions
            }

        return await self._cluster.persist(attempt)


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for each in partitions:
        found.setdefault(each.topic, []).append(each.partition)
    return found


def _list(
    replicas: Mapping[TopicPartition, Sequence[int] | None], topic: str, number: int
) -> list[int] | None:
    wanted = replicas[TopicPartition(topic, number)]
    return None if wanted is None else list(wanted)


def _error(code: int, message: str | None) -> ApiError | None:
    return None if code == ErrorCode.NONE else error_of(code, message)
