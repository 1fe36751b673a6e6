"""What the broker's assignors promise, for any members, subscriptions, topics and histories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from klamm.base.ids import Uuid
from klamm.coordinator.group.assignors.range import assign_ranges
from klamm.coordinator.group.assignors.spec import Assignor, GroupSpec, MemberSpec, Partitions
from klamm.coordinator.group.assignors.table import ASSIGNORS
from klamm.coordinator.group.assignors.uniform import assign_uniformly

TOPICS = tuple(Uuid(bytes([n]) * 16) for n in range(5))
Target = Mapping[str, Partitions]

counts = st.fixed_dictionaries({topic: st.integers(1, 9) for topic in TOPICS})
names = st.lists(st.text("abcdef", min_size=1, max_size=3), min_size=1, max_size=7, unique=True)
subscription = st.frozensets(st.sampled_from(TOPICS), max_size=4)


def spec_of(
    subscriptions: Mapping[str, frozenset[Uuid]],
    partition_counts: Mapping[Uuid, int],
    before: Target | None = None,
) -> GroupSpec:
    past = before or {}
    members = {
        name: MemberSpec(topics, past.get(name, {})) for name, topics in subscriptions.items()
    }
    used = {topic for topics in subscriptions.values() for topic in topics}
    return GroupSpec(members, {topic: partition_counts[topic] for topic in used})


def places(partitions: Partitions) -> set[tuple[Uuid, int]]:
    return {(topic, number) for topic, numbers in partitions.items() for number in numbers}


def loads(target: Target) -> dict[str, int]:
    return {name: len(places(partitions)) for name, partitions in target.items()}


def check_complete(spec: GroupSpec, target: Target) -> None:
    assert target.keys() == spec.members.keys()
    given = Counter(place for each in target.values() for place in places(each))
    wanted = {(t, n) for t, count in spec.partition_counts.items() for n in range(count)}
    assert given == Counter(wanted)
    for name, partitions in target.items():
        assert partitions.keys() <= set(spec.members[name].topics)
        assert all(partitions.values()), "a topic without a partition"


@pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=ASSIGNORS.keys())
@given(data=st.data(), partition_counts=counts, members=names)
def test_every_subscribed_partition_has_one_owner_who_subscribes(
    assignor: Assignor, data: st.DataObject, partition_counts: dict[Uuid, int], members: list[str]
) -> None:
    spec = spec_of({name: data.draw(subscription) for name in members}, partition_counts)

    check_complete(spec, assignor(spec))


@given(topics=subscription, partition_counts=counts, members=names)
def test_equal_subscriptions_get_shares_that_differ_by_one_at_most(
    topics: frozenset[Uuid], partition_counts: dict[Uuid, int], members: list[str]
) -> None:
    target = assign_uniformly(spec_of(dict.fromkeys(members, topics), partition_counts))

    sizes = loads(target).values()
    assert max(sizes) - min(sizes) <= 1


@given(data=st.data(), partition_counts=counts, members=names)
def test_nothing_can_be_moved_that_would_make_two_members_more_equal(
    data: st.DataObject, partition_counts: dict[Uuid, int], members: list[str]
) -> None:
    spec = spec_of({name: data.draw(subscription) for name in members}, partition_counts)
    target = assign_uniformly(spec)

    sizes = loads(target)
    for name, partitions in target.items():
        for topic in partitions:
            for other, member in spec.members.items():
                assert topic not in member.topics or sizes[name] - sizes[other] <= 1


@pytest.mark.parametrize("assignor", ASSIGNORS.values(), ids=ASSIGNORS.keys())
@given(data=st.data(), partition_counts=counts, members=names)
def test_a_target_is_kept_as_long_as_nothing_changes(
    assignor: Assignor, data: st.DataObject, partition_counts: dict[Uuid, int], members: list[str]
) -> None:
    subscriptions = {name: data.draw(subscription) for name in members}
    before = assignor(spec_of(subscriptions, partition_counts))

    after = assignor(spec_of(subscriptions, partition_counts, before))

    assert after == before


@given(topics=subscription, partition_counts=counts, members=names, data=st.data())
def test_members_that_stay_move_no_more_than_balance_asks_for(
    topics: frozenset[Uuid],
    partition_counts: dict[Uuid, int],
    members: list[str],
    data: st.DataObject,
) -> None:
    before = assign_uniformly(spec_of(dict.fromkeys(members, topics), partition_counts))
    stay = data.draw(st.lists(st.sampled_from(members), unique=True))
    come = [f"new-{n}" for n in range(data.draw(st.integers(0, 3)))]
    now = [*stay, *come] or ["new"]
    spec = spec_of(dict.fromkeys(now, topics), partition_counts, before)

    after = assign_uniformly(spec)

    check_complete(spec, after)
    total = sum(partition_counts[topic] for topic in topics)
    quota, extras = divmod(total, len(now))
    for name in stay:
        lost = places(before[name]) - places(after[name])
        # Only what is above the share is taken away; the extra ones go to some of those who have them.
        assert not lost or len(places(after[name])) in (quota, quota + bool(extras))
        assert len(places(after[name]) & places(before[name])) >= min(
            len(places(before[name])), quota
        )


@given(data=st.data(), partition_counts=counts, members=names)
def test_a_changed_group_is_still_complete(
    data: st.DataObject, partition_counts: dict[Uuid, int], members: list[str]
) -> None:
    before = assign_uniformly(
        spec_of({name: data.draw(subscription) for name in members}, partition_counts)
    )
    grown = {
        topic: count + data.draw(st.integers(0, 2)) for topic, count in partition_counts.items()
    }
    spec = spec_of({name: data.draw(subscription) for name in members}, grown, before)

    check_complete(spec, assign_uniformly(spec))


@given(data=st.data(), partition_counts=counts, members=names)
def test_what_two_members_both_claim_goes_to_one_of_them(
    data: st.DataObject, partition_counts: dict[Uuid, int], members: list[str]
) -> None:
    both = {topic: frozenset(range(count)) for topic, count in partition_counts.items()}
    subscriptions = {name: data.draw(subscription) for name in members}
    spec = spec_of(subscriptions, partition_counts, dict.fromkeys(members, both))

    check_complete(spec, assign_uniformly(spec))


# range


def test_range_gives_runs_of_each_topic_and_the_first_members_one_more() -> None:
    a, b = TOPICS[:2]
    spec = spec_of(dict.fromkeys("xyz", frozenset({a, b})), {a: 4, b: 4})

    target = assign_ranges(spec)

    runs = [frozenset({0, 1}), frozenset({2}), frozenset({3})]
    assert [target[name] for name in "xyz"] == [{a: run, b: run} for run in runs]


def test_range_knows_static_members_by_their_instance_ids() -> None:
    a = TOPICS[0]
    members = {
        "dynamic": MemberSpec(frozenset({a}), {}),
        "z": MemberSpec(frozenset({a}), {}, "i1"),
        "y": MemberSpec(frozenset({a}), {}, "i2"),
    }

    target = assign_ranges(GroupSpec(members, {a: 3}))

    assert [target[name][a] for name in ("z", "y", "dynamic")] == [{0}, {1}, {2}]


def test_range_leaves_members_without_where_partitions_are_few() -> None:
    a = TOPICS[0]

    target = assign_ranges(spec_of(dict.fromkeys("xyz", frozenset({a})), {a: 2}))

    assert target == {"x": {a: {0}}, "y": {a: {1}}, "z": {}}


def test_nobody_to_assign_to_is_nothing_to_assign() -> None:
    assert [assignor(GroupSpec({}, {})) for assignor in ASSIGNORS.values()] == [{}, {}]
