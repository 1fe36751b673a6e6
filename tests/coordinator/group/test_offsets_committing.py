"""Commits: who may, for what, and what is written."""

from __future__ import annotations

import pytest

from coordinator.group.committing import World, topic_id
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.coordinator.group.classic.group import ClassicGroup
from klamm.coordinator.group.records import FRAMING
from klamm.coordinator.records.framing import CoordinatorRecord, Framing
from klamm.coordinator.records.group import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

OK = ErrorCode.NONE


def test_a_commit_without_a_member_makes_a_group_that_only_holds_offsets() -> None:
    world = World()

    assert world.commit("solo", {("t", 0): 7}) == {("t", 0): OK}

    assert world.offsets_of("solo") == {("t", 0): 7}
    group = world.shard.groups["solo"]
    assert (group.kind, group.protocol_type, group.is_empty) == ("classic", "", True)


@pytest.mark.parametrize(
    ("version", "error"),
    [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)],
)
def test_a_member_of_a_group_that_does_not_exist_cannot_commit(
    version: int, error: ErrorCode
) -> None:
    world = World()

    codes = world.commit("gone", {("t", 0): 7}, member="ann", generation=3, version=version)

    assert codes == {("t", 0): error}
    assert world.log == []


def test_a_member_of_the_running_generation_commits() -> None:
    world = World()
    world.a_stable_group("g", {"ann": ("t",)})

    assert world.commit("g", {("t", 0): 7}, member="ann", generation=5) == {("t", 0): OK}
    assert world.offsets_of("g") == {("t", 0): 7}


@pytest.mark.parametrize(
    ("member", "generation", "error"),
    [
        ("ann", 4, ErrorCode.ILLEGAL_GENERATION),
        ("eve", 5, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_zombie_cannot_commit(member: str, generation: int, error: ErrorCode) -> None:
    world = World()
    world.a_stable_group("g", {"ann": ("t",)})

    codes = world.commit("g", {("t", 0): 7}, member=member, generation=generation)

    assert codes == {("t", 0): error}
    assert world.offsets_of("g") == {}


def test_a_commit_keeps_a_classic_member_alive() -> None:
    world = World()
    world.a_stable_group("g", {"ann": ("t",)})
    world.now += 9_000

    world.commit("g", {("t", 0): 7}, member="ann", generation=5)
    world.wake(after=9_000)

    group = world.shard.groups["g"]
    assert isinstance(group, ClassicGroup)
    assert set(group.members) == {"ann"}


def test_partitions_that_do_not_exist_are_refused_and_the_others_written() -> None:
    world = World()

    codes = world.commit("g", {("t", 0): 1, ("t", 3): 2, ("t", -1): 3, ("none", 0): 4})

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert list(codes.values()) == [OK, unknown, unknown, unknown]
    assert world.offsets_of("g") == {("t", 0): 1}


def test_a_zombie_is_told_which_partitions_do_not_exist() -> None:
    world = World()
    world.a_stable_group("g", {"ann": ("t",)})

    codes = world.commit("g", {("t", 0): 1, ("none", 0): 4}, member="ann", generation=4)

    assert codes == {
        ("t", 0): ErrorCode.ILLEGAL_GENERATION,
        ("none", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_a_topic_may_be_named_by_its_id() -> None:
    world = World()

    codes = world.commit("g", {("t", 0): 1, ("none", 0): 4}, version=10)

    assert codes == {("t", 0): OK, ("none", 0): ErrorCode.UNKNOWN_TOPIC_ID}
    assert world.offsets_of("g") == {("t", 0): 1}


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ("x" * 10, OK),
        ("x" * 11, ErrorCode.OFFSET_METADATA_TOO_LARGE),
        ("é" * 10, OK),
        # Java counts these twice.
        ("\N{PERSONAL COMPUTER}" * 5, OK),
        ("\N{PERSONAL COMPUTER}" * 6, ErrorCode.OFFSET_METADATA_TOO_LARGE),
    ],
)
def test_metadata_has_a_limit(metadata: str, error: ErrorCode) -> None:
    world = World(offset_metadata_max_bytes=10)

    assert world.commit("g", {("t", 0): 1}, metadata=metadata) == {("t", 0): error}


def test_a_group_may_refuse_single_partitions_and_then_nothing_is_written() -> None:
    world = World()
    world.shard.groups["g"] = Choosy("g", since=0)

    codes = world.commit("g", {("t", 0): 1, ("t", 1): 2}, member="ann", generation=2)

    stale = ErrorCode.STALE_MEMBER_EPOCH
    assert codes == {("t", 0): stale, ("t", 1): stale}
    assert world.log == []


class Choosy(ClassicGroup):
    """Takes commits for every partition but one."""

    __slots__ = ()

    def check_commit(self, *who: object, **how: object):  # type: ignore[no-untyped-def]
        def check(topic: str, topic_id: Uuid, partition: int) -> None:
            if partition == 1:
                raise ApiError(ErrorCode.STALE_MEMBER_EPOCH)

        return check


def test_the_record_is_kafkas() -> None:
    world = World()

    world.commit("g", {("t", 2): 7}, epoch=3, metadata="m")

    (written,) = world.log
    assert FRAMING.decode(written.key, written.value) == CoordinatorRecord(
        OffsetCommitKey(group="g", topic="t", partition=2),
        OffsetCommitValue(
            offset=7,
            leader_epoch=3,
            metadata="m",
            commit_timestamp=world.now,
            topic_id=topic_id("t"),
        ),
        4,
    )


def test_a_retention_of_the_clients_own_is_written_in_the_version_that_has_it() -> None:
    world = World()

    world.commit("g", {("t", 2): 7}, epoch=3, retention=5_000, version=4)

    (written,) = world.log
    record = FRAMING.decode(written.key, written.value)
    assert record is not None
    assert record.version == 1
    assert record.value == OffsetCommitValue(
        offset=7, commit_timestamp=world.now, expire_timestamp=world.now + 5_000
    )


def test_records_of_old_brokers_are_read() -> None:
    world = World()
    old = Framing(((LegacyOffsetCommitKey, LegacyOffsetCommitValue),))
    record = CoordinatorRecord(
        LegacyOffsetCommitKey(group="g", topic="t", partition=1),
        LegacyOffsetCommitValue(offset=4, metadata="m", commit_timestamp=9),
    )
    known = FRAMING.decode(*old.encode(record))
    assert known is not None

    world.shard.replay(known, 0, None)

    assert world.fetch("g") == {("t", 1): (4, "m", OK)}
    world.shard.replay(CoordinatorRecord(known.key), 1, None)
    assert world.fetch("g") == {}
