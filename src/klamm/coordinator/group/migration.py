"""Online migration: a group changes its kind while its members go on working.

    classic -> consumer   a member that speaks KIP-848 joins a classic group of consumers. The others are served by the
                          classic protocol (consumer/classic_members.py) until they are restarted.
    consumer -> classic   the last member that speaks KIP-848 leaves. The others rejoin a classic group.

group.consumer.migration.policy says which way is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from klamm.base.clock import Now
from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.base.ids import Uuid
from klamm.base.settings.group import GroupSettings
from klamm.coordinator.group import consumer_protocol
from klamm.coordinator.group.assignors.spec import Partitions
from klamm.coordinator.group.classic.group import ClassicGroup
from klamm.coordinator.group.classic.member import Client
from klamm.coordinator.group.classic.member import Member as ClassicMember
from klamm.coordinator.group.classic.states import State
from klamm.coordinator.group.consumer import records
from klamm.coordinator.group.consumer.balancing import Balancing
from klamm.coordinator.group.consumer.group import ConsumerGroup
from klamm.coordinator.group.consumer.member import ClassicFacts, ClassicProtocol, Member
from klamm.coordinator.group.draft import Draft
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.metadata.image import ClusterImage

if TYPE_CHECKING:
    from klamm.coordinator.group.shard import GroupShard

CONSUMER_PROTOCOL = "consumer"


@dataclass(frozen=True, slots=True)
class Policy:
    may_upgrade: bool
    may_downgrade: bool


_POLICIES = {
    "bidirectional": Policy(True, True),
    "upgrade": Policy(True, False),
    "downgrade": Policy(False, True),
    "disabled": Policy(False, False),
}


def policy_of(settings: GroupSettings) -> Policy:
    return _POLICIES[settings.group_consumer_migration_policy.lower()]


# From classic to consumer.


def upgrade(
    group: ClassicGroup, shard: GroupShard, balancing: Balancing
) -> list[CoordinatorRecord]:
    """The consumer group that takes the classic one's place. Who owned what goes on owning it."""
    _check_upgrade(group, shard.settings)
    try:
        members = _converted(group, shard.image)
    except CorruptFrame as e:
        raise _refusal(group, "the embedded consumer protocol is malformed.") from e
    group_id, epoch = group.group_id, group.generation
    subscriptions = [records.subscription(group_id, member) for member in members]
    fresh = ConsumerGroup(group_id)
    for record in subscriptions:
        fresh.replay(record)
    return [
        *subscriptions,
        records.group_epoch(group_id, epoch, balancing.hash_of(fresh)),
        *(records.target(group_id, each.member_id, _partitions(each)) for each in members),
        # Not computed by us: whoever changes the group may have it computed at once.
        records.target_epoch(group_id, epoch, 0),
        *(records.current(group_id, each) for each in members),
    ]


def _check_upgrade(group: ClassicGroup, settings: GroupSettings) -> None:
    if not policy_of(settings).may_upgrade:
        raise _refusal(group, "online upgrade is disabled.")
    if not group.uses_consumer_protocol:
        raise _refusal(group, "the group does not use the consumer embedded protocol.")
    if len(group.members) > settings.group_consumer_max_size:
        raise _refusal(group, "the group size exceeds the consumer group maximum size.")


def _refusal(group: ClassicGroup, reason: str) -> ApiError:
    return ApiError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {group.group_id} to consumer group because {reason}",
    )


def _converted(group: ClassicGroup, image: ClusterImage) -> list[Member]:
    taken: set[tuple[Uuid, int]] = set()
    return [_converted_member(group, each, image, taken) for each in group.members.values()]


def _converted_member(
    group: ClassicGroup, member: ClassicMember, image: ClusterImage, taken: set[tuple[Uuid, int]]
) -> Member:
    assignment = consumer_protocol.read_assignment(member.assignment)
    if assignment.user_data:
        raise _refusal(group, "an unsupported custom assignor is in use.")
    subscription = consumer_protocol.read_subscription(_metadata(group, member))
    owned: dict[Uuid, dict[int, int]] = {}
    for topic_id, partition in consumer_protocol.places(assignment.assigned_partitions, image):
        # The leader may have given a partition to two members; here it must have one owner.
        if (topic_id, partition) not in taken:
            taken.add((topic_id, partition))
            owned.setdefault(topic_id, {})[partition] = group.generation
    return Member(
        member.member_id,
        epoch=group.generation,
        previous_epoch=group.generation,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id or None,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        client_id=member.client.id,
        client_host=member.client.host,
        topic_names=frozenset(subscription.topics),
        assigned=owned,
        classic=ClassicFacts(
            member.session_timeout_ms,
            tuple(ClassicProtocol(name, metadata) for name, metadata in member.protocols),
        ),
    )


def _metadata(group: ClassicGroup, member: ClassicMember) -> bytes:
    """All protocols of a consumer carry the same subscription; in the first round none is chosen yet."""
    protocols = dict(member.protocols)
    return protocols.get(group.protocol or "", member.protocols[0][1])


def _partitions(member: Member) -> Partitions:
    return {topic_id: frozenset(epochs) for topic_id, epochs in member.assigned.items()}


# From consumer to classic.


def may_downgrade(left: Sequence[Member], settings: GroupSettings) -> bool:
    """Whether all who are left speak the classic protocol, and may have a classic group."""
    return (
        bool(left)
        and all(member.classic is not None for member in left)
        and policy_of(settings).may_downgrade
        and len(left) <= settings.group_max_size
    )


def downgrade(
    group: ConsumerGroup,
    left: Iterable[Member],
    shard: GroupShard,
    draft: Draft,
    now: Now,
    *,
    must_rebalance: bool,
) -> bool:
    """`group` may be a copy that a member has been replaced in. The classic group takes its place at once.

    False, and nothing has changed, if there is no room for its record: it stands in one, however many members it has.
    """
    classic = _classic_group(group, left, shard.image, now)
    written = [*group.tombstones(), classic.record(classic.assignments())]
    if not shard.room.fits([*draft.records, *written]):
        return False
    draft.records.extend(written)
    shard.groups[group.group_id] = classic
    for member in classic.members.values():
        shard.classic.rebalances.keep_session(member, now.monotonic)
    if must_rebalance:
        shard.classic.rebalances.prepare(classic, draft, now)
    return True


def _classic_group(
    group: ConsumerGroup, left: Iterable[Member], image: ClusterImage, now: Now
) -> ClassicGroup:
    classic = ClassicGroup(group.group_id, state=State.STABLE, since=now.wall)
    classic.generation = group.epoch
    for member in left:
        assert member.classic is not None
        target = group.target.get(member.member_id, {})
        classic.add(
            _classic_member(group, member, member.classic, target, image), CONSUMER_PROTOCOL
        )
    classic.protocol = classic.select_protocol()
    classic.refresh_subscriptions()
    return classic


def _classic_member(
    group: ConsumerGroup,
    member: Member,
    facts: ClassicFacts,
    target: Mapping[Uuid, frozenset[int]],
    image: ClusterImage,
) -> ClassicMember:
    version = consumer_protocol.version_of(facts.protocols[0].metadata)
    return ClassicMember(
        group.group_id,
        member.member_id,
        group_instance_id=member.instance_id,
        client=Client(member.client_id, member.client_host),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=facts.session_timeout_ms,
        protocols=tuple((each.name, each.metadata) for each in facts.protocols),
        assignment=consumer_protocol.write_assignment(target, image, version),
    )
