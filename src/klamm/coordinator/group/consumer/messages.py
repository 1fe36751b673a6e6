"""What members of a consumer group, and those who ask about it, say and hear.

A request is checked for what must hold whatever the group, in Kafka's order and in its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.coordinator.group.classic.member import Client
from klamm.coordinator.group.consumer.balancing import Step
from klamm.coordinator.group.consumer.group import ConsumerGroup
from klamm.coordinator.group.consumer.member import (
    JOINING_EPOCH,
    LEAVING_EPOCH,
    LEAVING_STATIC_EPOCH,
    Member,
    Owned,
)
from klamm.coordinator.group.consumer.reconciliation import Claimed, claims
from klamm.metadata.image import ClusterImage
from klamm.protocol.messages import consumer_group_describe as describe
from klamm.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

# From this version on the client names itself, and patterns can be subscribed to.
_CLIENT_NAMES_ITSELF = 1

_CLASSIC_MEMBER, _CONSUMER_MEMBER = 0, 1


def check_heartbeat(
    request: ConsumerGroupHeartbeatRequest, *, version: int, assignors: Sequence[str]
) -> None:
    epoch = request.member_epoch
    if version >= _CLIENT_NAMES_ITSELF or epoch > 0 or epoch == LEAVING_EPOCH:
        _refuse_blank(request.member_id, "MemberId can't be empty.")
    _refuse_blank(request.group_id, "GroupId can't be empty.")
    _refuse_blank(request.instance_id, "InstanceId can't be empty.")
    _refuse_blank(request.rack_id, "RackId can't be empty.")
    if epoch == JOINING_EPOCH:
        _check_joining(request)
    elif epoch == LEAVING_STATIC_EPOCH:
        _refuse(request.instance_id is None, "InstanceId can't be null.")
    else:
        _refuse(epoch < LEAVING_STATIC_EPOCH, "MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise ApiError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(assignors)}.",
        )


def _check_joining(request: ConsumerGroupHeartbeatRequest) -> None:
    _refuse(
        request.rebalance_timeout_ms == -1, "RebalanceTimeoutMs must be provided in first request."
    )
    _refuse(
        request.topic_partitions is None or bool(request.topic_partitions),
        "TopicPartitions must be empty when (re-)joining.",
    )
    _refuse(
        request.subscribed_topic_names is None and request.subscribed_topic_regex is None,
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
    )


def _refuse_blank(text: str | None, message: str) -> None:
    _refuse(text is not None and not text.strip(), message)


def _refuse(is_wrong: bool, message: str) -> None:
    if is_wrong:
        raise ApiError(ErrorCode.INVALID_REQUEST, message)


def claimed_in(request: ConsumerGroupHeartbeatRequest) -> Claimed:
    if request.topic_partitions is None:
        return None
    return claims([(each.topic_id, each.partitions) for each in request.topic_partitions])


def updated(member: Member, request: ConsumerGroupHeartbeatRequest, client: Client) -> Member:
    """What the request says nothing about stays as it is; most say nothing, and give the same object."""
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    timeout = request.rebalance_timeout_ms
    if (
        names is None
        and regex is None
        and timeout == -1
        and request.rack_id is None
        and request.server_assignor is None
        and request.instance_id in (None, member.instance_id)
        and (client.id, client.host) == (member.client_id, member.client_host)
        and member.classic is None
    ):
        return member
    return replace(
        member,
        instance_id=request.instance_id or member.instance_id,
        rack_id=request.rack_id or member.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout == -1 else timeout,
        server_assignor=request.server_assignor or member.server_assignor,
        topic_names=member.topic_names if names is None else frozenset(names),
        topic_regex=member.topic_regex if regex is None else regex,
        client_id=client.id,
        client_host=client.host,
        classic=None,
    )


def heartbeat_answer(
    request: ConsumerGroupHeartbeatRequest, step: Step, interval_ms: int
) -> ConsumerGroupHeartbeatResponse:
    """The assignment is told where it changed, and to a member that told all about itself: it may know nothing."""
    is_full = (
        request.rebalance_timeout_ms != -1
        and (request.subscribed_topic_names, request.subscribed_topic_regex) != (None, None)
        and request.topic_partitions is not None
    )
    member = step.after
    is_told = (
        request.member_epoch == JOINING_EPOCH or is_full or member.assigned != step.before.assigned
    )
    return ConsumerGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=interval_ms,
        assignment=_assignment(member.assigned) if is_told else None,
    )


def _assignment(owned: Owned) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=sorted(epochs))
            for topic_id, epochs in owned.items()
        ]
    )


def described(
    group: ConsumerGroup, default_assignor: str, image: ClusterImage
) -> describe.DescribedGroup:
    return describe.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.assignor or default_assignor,
        members=[
            _described_member(member, group.target.get(member.member_id, {}), image)
            for member in group.members.values()
        ],
    )


def _described_member(
    member: Member, target: Mapping[Uuid, Iterable[int]], image: ClusterImage
) -> describe.Member:
    owned: dict[Uuid, list[int]] = {}
    for side in (member.assigned, member.pending_revocation):
        for topic_id, epochs in side.items():
            owned.setdefault(topic_id, []).extend(epochs)
    return describe.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        assignment=_described_assignment(owned, image),
        target_assignment=_described_assignment(target, image),
        member_type=_CONSUMER_MEMBER if member.classic is None else _CLASSIC_MEMBER,
    )


def _described_assignment(
    owned: Mapping[Uuid, Iterable[int]], image: ClusterImage
) -> describe.Assignment:
    """Topics that were deleted since are left out: they have no name any more."""
    topics = image.topics_by_id
    return describe.Assignment(
        topic_partitions=[
            describe.TopicPartitions(
                topic_id=topic_id, topic_name=topics[topic_id].name, partitions=sorted(partitions)
            )
            for topic_id, partitions in owned.items()
            if topic_id in topics
        ]
    )
