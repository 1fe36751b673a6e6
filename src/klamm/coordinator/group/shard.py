"""GroupShard: one partition of __consumer_offsets. Hands records, alarms and requests to the part they belong to.

Parts: `classic` has the groups whose members elect a leader to share out the work; `consumer` those of KIP-848; `offsets`
what was committed, by whichever kind of group. Groups of all kinds have one name space, so `groups` is shared.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence, Set
from typing import Protocol

from klamm.base.chance import Chance
from klamm.base.clock import Now
from klamm.base.deadlines import Deadlines
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.settings.group import GroupSettings
from klamm.base.token import Token
from klamm.coordinator.group.classic.answers import described
from klamm.coordinator.group.classic.group import ClassicGroup
from klamm.coordinator.group.classic.groups import ClassicGroups
from klamm.coordinator.group.consumer.classic_members import ClassicMembers
from klamm.coordinator.group.consumer.groups import ConsumerGroups
from klamm.coordinator.group.draft import Draft
from klamm.coordinator.group.kind import Group
from klamm.coordinator.group.offsets import Offsets
from klamm.coordinator.records.framing import CoordinatorRecord
from klamm.coordinator.shard import NO_LIMIT, NOTHING, Outcome, Producer, Room
from klamm.metadata.image import ClusterImage
from klamm.protocol.messages.delete_groups import DeletableGroupResult
from klamm.protocol.messages.list_groups import ListedGroup


class Part(Protocol):
    """A part of the shard. The keys of its alarms are tuples that begin with its name."""

    # The classes of the keys of its records.
    record_keys: tuple[type, ...]

    def replay(self, record: CoordinatorRecord, offset: int, producer: Producer | None) -> None: ...

    def loaded(self, now: Now) -> Outcome: ...

    def follow(self, before: ClusterImage, now: Now) -> Outcome:
        """The metadata changed from `before` to the shard's `image`."""
        ...

    def wake(self, key: tuple[object, ...], now: Now) -> Outcome: ...

    def check_invariants(self) -> None: ...


class GroupShard:
    def __init__(self, settings: GroupSettings, chance: Chance) -> None:
        self.settings = settings
        self.chance = chance
        self.image = ClusterImage()
        self.deadlines: Deadlines[Hashable] = Deadlines()
        self.room = NO_LIMIT
        self.groups: dict[str, Group] = {}
        self.is_loaded = False
        self.classic = ClassicGroups(self)
        self.consumer = ConsumerGroups(self)
        # Members of consumer groups that speak the classic protocol.
        self.classic_members = ClassicMembers(self, self.consumer)
        self.offsets = Offsets(self)
        self._parts: dict[str, Part] = {
            "classic": self.classic,
            "consumer": self.consumer,
            "offsets": self.offsets,
        }
        self._part_of = {key: part for part in self._parts.values() for key in part.record_keys}

    def limit(self, room: Room) -> None:
        self.room = room

    def check_open(self) -> None:
        """Before what is not written down changes because of what would be."""
        if not self.room.is_open:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def replay(self, record: CoordinatorRecord, offset: int, producer: Producer | None) -> None:
        self._part_of[type(record.key)].replay(record, offset, producer)

    def replay_end(self, producer: Producer, is_commit: bool) -> None:
        self.offsets.replay_end(producer, is_commit)

    def loaded(self, image: ClusterImage, now: Now) -> Outcome:
        self.image = image
        self.is_loaded = True
        return _together(part.loaded(now) for part in self._parts.values())

    def follow(self, image: ClusterImage, now: Now) -> Outcome:
        before, self.image = self.image, image
        return _together(part.follow(before, now) for part in self._parts.values())

    def wake(self, now: Now) -> Outcome:
        """Stops at the first alarm that writes something: the next must see it replayed. The rest stay due."""
        draft = Draft()
        while not draft.records and (key := self.deadlines.take(now.monotonic)) is not None:
            assert isinstance(key, tuple)
            draft.add(self._parts[key[0]].wake(key, now))
        return draft.outcome()

    def close(self) -> None:
        self.groups.clear()

    def check_fits(self, records: Sequence[CoordinatorRecord]) -> None:
        """Before what is not written down changes: what does not fit is one client's affair. Kafka's word for it."""
        if records and not self.room.fits(records):
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)

    # Requests about groups of all kinds.

    def list_groups(self, states: Set[str], kinds: Set[str]) -> list[ListedGroup]:
        """Those in one of the states and of one of the kinds, both in lower case; all where none is named."""
        return [
            ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state_name,
                group_type=group.kind,
            )
            for group in self.groups.values()
            if (not states or group.state_name.lower() in states)
            and (not kinds or group.kind in kinds)
        ]

    def describe_classic(self, group_id: str, *, token: Token) -> Outcome:
        group = self.groups.get(group_id)
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        if not isinstance(group, ClassicGroup):
            raise ApiError(
                ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a classic group."
            )
        return Outcome(replies=((token, described(group)),))

    def delete_group(self, group_id: str, *, token: Token) -> Outcome:
        group = self.groups.get(group_id)
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        group.check_delete()
        records = (*self.offsets.tombstones(group_id), *group.tombstones())
        return Outcome(
            records,
            ((token, DeletableGroupResult(group_id=group_id)),),
            if_too_large=ErrorCode.UNKNOWN_SERVER_ERROR,
        )

    def check_invariants(self) -> None:
        for group_id, group in self.groups.items():
            assert group.group_id == group_id
        for part in self._parts.values():
            part.check_invariants()


def _together(outcomes: Iterable[Outcome]) -> Outcome:
    draft = Draft()
    for outcome in outcomes:
        if outcome is not NOTHING:
            draft.add(outcome)
    return draft.outcome()
