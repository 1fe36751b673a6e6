"""Groups of both protocols: list, describe, delete, remove members, and their committed offsets."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import NamedTuple, TypeVar

from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client.cluster import NO_SUCH_THING, Cluster, CoordinatorKind
from klamm.client.consumer.commits import commit_offsets, fetch_committed
from klamm.client.consumer.join_group import by_topic, read_assignment
from klamm.client.errors import check
from klamm.client.offsets import CommittedOffset, GroupMetadata
from klamm.protocol.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from klamm.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from klamm.protocol.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from klamm.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from klamm.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from klamm.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from klamm.protocol.wire import Buffer

T = TypeVar("T")


class GroupListing(NamedTuple):
    group_id: str
    protocol_type: str
    state: str
    kind: str


class GroupMember(NamedTuple):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    assignment: frozenset[TopicPartition]


class GroupDescription(NamedTuple):
    """`assignor` is the protocol that members chose, or the server's assignor."""

    group_id: str
    kind: str
    state: str
    assignor: str
    members: tuple[GroupMember, ...]
    coordinator: int


class GroupAdmin:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def list(
        self, *, states: Collection[str] = (), kinds: Collection[str] = ()
    ) -> list[GroupListing]:
        """Every broker knows those that it coordinates."""
        request = ListGroupsRequest(states_filter=[*states], types_filter=[*kinds])

        async def of_node(node_id: int) -> list[GroupListing]:
            answer = await self._cluster.ask(node_id, request, ListGroupsResponse)
            check(answer.error_code)
            return [
                GroupListing(row.group_id, row.protocol_type, row.group_state, row.group_type)
                for row in answer.groups
            ]

        async def attempt() -> list[GroupListing]:
            await self._cluster.refresh()
            found = await asyncio.gather(*(of_node(node) for node in self._cluster.view.nodes))
            return sorted(listing for part in found for listing in part)

        return await self._cluster.persist(attempt)

    async def describe(self, group_id: str) -> GroupDescription:
        try:
            return await self._describe_consumer_group(group_id)
        except ApiError as e:
            # The broker, or the group, is of the classic kind.
            if e.code not in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
                raise
        return await self._describe_classic_group(group_id)

    async def _describe_consumer_group(self, group_id: str) -> GroupDescription:
        request = ConsumerGroupDescribeRequest(group_ids=[group_id])

        async def attempt() -> GroupDescription:
            answer = await self._ask(group_id, request, ConsumerGroupDescribeResponse)
            (group,) = answer.groups
            self._judge(group_id, group.error_code, group.error_message)
            members = (
                GroupMember(
                    row.member_id,
                    row.instance_id,
                    row.client_id,
                    row.client_host,
                    _partitions(row.assignment),
                )
                for row in group.members
            )
            return GroupDescription(
                group_id,
                "consumer",
                group.group_state,
                group.assignor_name,
                tuple(members),
                await self._cluster.coordinator(CoordinatorKind.GROUP, group_id),
            )

        return await self._cluster.persist(attempt)

    async def _describe_classic_group(self, group_id: str) -> GroupDescription:
        request = DescribeGroupsRequest(groups=[group_id])

        async def attempt() -> GroupDescription:
            answer = await self._ask(group_id, request, DescribeGroupsResponse)
            (group,) = answer.groups
            self._judge(group_id, group.error_code, group.error_message)
            members = (
                GroupMember(
                    row.member_id,
                    row.group_instance_id,
                    row.client_id,
                    row.client_host,
                    _classic_assignment(group.protocol_type, row.member_assignment),
                )
                for row in group.members
            )
            return GroupDescription(
                group_id,
                "classic",
                group.group_state,
                group.protocol_data,
                tuple(members),
                await self._cluster.coordinator(CoordinatorKind.GROUP, group_id),
            )

        return await self._cluster.persist(attempt)

    async def delete(self, group_id: str) -> None:
        async def attempt() -> None:
            request = DeleteGroupsRequest(groups_names=[group_id])
            answer = await self._ask(group_id, request, DeleteGroupsResponse)
            self._judge(group_id, answer.results[0].error_code)

        await self._cluster.persist(attempt)

    async def remove_members(
        self,
        group_id: str,
        *,
        member_ids: Collection[str] = (),
        group_instance_ids: Collection[str] = (),
    ) -> None:
        members = [MemberIdentity(member_id=member_id) for member_id in member_ids]
        members += [MemberIdentity(group_instance_id=name) for name in group_instance_ids]

        async def attempt() -> None:
            request = LeaveGroupRequest(group_id=group_id, members=members)
            answer = await self._ask(group_id, request, LeaveGroupResponse)
            self._judge(group_id, answer.error_code)
            for row in answer.members:
                check(row.error_code)

        await self._cluster.persist(attempt)

    # Offsets.

    async def offsets(
        self, group_id: str, partitions: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, CommittedOffset]:
        """Those of open transactions do not count yet, and do not hold the answer up."""
        return await fetch_committed(self._cluster, group_id, partitions, require_stable=False)

    async def alter_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        """The group must have no members."""
        await commit_offsets(self._cluster, lambda: GroupMetadata(group_id), offsets)

    async def delete_offsets(self, group_id: str, partitions: Collection[TopicPartition]) -> None:
        """The group must not be subscribed to the topics."""
        request = OffsetDeleteRequest(
            group_id=group_id,
            topics=[
                OffsetDeleteRequestTopic(
                    name=topic,
                    partitions=[
                        OffsetDeleteRequestPartition(partition_index=index) for index in indexes
                    ],
                )
                for topic, indexes in by_topic(partitions).items()
            ],
        )

        async def attempt() -> None:
            answer = await self._ask(group_id, request, OffsetDeleteResponse)
            self._judge(group_id, answer.error_code)
            for part in (part for topic in answer.topics for part in topic.partitions):
                check(part.error_code)

        await self._cluster.persist(attempt, never=NO_SUCH_THING)

    async def _ask(self, group_id: str, request: object, answer: type[T]) -> T:
        return await self._cluster.ask_coordinator(CoordinatorKind.GROUP, group_id, request, answer)

    def _judge(self, group_id: str, code: int, message: str | None = None) -> None:
        self._cluster.judge(CoordinatorKind.GROUP, group_id, code, message)


def _partitions(assignment: Assignment) -> frozenset[TopicPartition]:
    return frozenset(
        TopicPartition(row.topic_name, index)
        for row in assignment.topic_partitions
        for index in row.partitions
    )


def _classic_assignment(protocol_type: str, data: Buffer) -> frozenset[TopicPartition]:
    """Groups that are not of consumers say something else there, and so may badly written members."""
    if protocol_type != "consumer":
        return frozenset()
    try:
        return read_assignment(data)
    except CorruptFrame:
        return frozenset()
