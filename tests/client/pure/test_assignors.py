"""Assignors: known examples, and what must hold of every group."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from klamm.base.ids import TopicPartition
from klamm.client.consumer.assignors.assignor import Assignments, Assignor, Member
from klamm.client.consumer.assignors.range import RangeAssignor
from klamm.client.consumer.assignors.round_robin import RoundRobinAssignor
from klamm.client.consumer.assignors.sticky import CooperativeStickyAssignor

ASSIGNORS: list[Assignor] = [RangeAssignor(), RoundRobinAssignor(), CooperativeStickyAssignor()]
TOPICS = ("a", "b", "c")


def names(assignments: Assignments) -> dict[str, list[str]]:
    return {member: [str(p) for p in partitions] for member, partitions in assignments.items()}


def members_of(*topics: str, count: int = 2) -> list[Member]:
    return [Member(member_id=f"m{number}", topics=topics) for number in range(count)]


def test_range_gives_runs_of_each_topic() -> None:
    assigned = RangeAssignor().assign(members_of("a", "b"), {"a": 3, "b": 3})

    assert names(assigned) == {"m0": ["a-0", "a-1", "b-0", "b-1"], "m1": ["a-2", "b-2"]}


def test_round_robin_deals_all_topics_in_a_row() -> None:
    assigned = RoundRobinAssignor().assign(members_of("a", "b"), {"a": 3, "b": 3})

    assert names(assigned) == {"m0": ["a-0", "a-2", "b-1"], "m1": ["a-1", "b-0", "b-2"]}


def test_static_members_keep_their_places_under_new_member_ids() -> None:
    def members(first: str, second: str) -> list[Member]:
        return [
            Member(member_id=first, topics=["a"], group_instance_id="one"),
            Member(member_id=second, topics=["a"], group_instance_id="two"),
        ]

    before = RangeAssignor().assign(members("m1", "m2"), {"a": 2})
    after = RangeAssignor().assign(members("m9", "m3"), {"a": 2})

    assert (before["m1"], before["m2"]) == (after["m9"], after["m3"])


def test_newcomer_gets_nothing_before_the_owner_gave_it_up() -> None:
    everything = tuple(TopicPartition("a", index) for index in range(4))
    old = Member(member_id="old", topics=["a"], owned=everything, generation=1)
    new = Member(member_id="new", topics=["a"])
    sticky = CooperativeStickyAssignor()

    first = sticky.assign([old, new], {"a": 4})
    kept = Member(member_id="old", topics=["a"], owned=tuple(first["old"]), generation=2)
    second = sticky.assign([kept, new], {"a": 4})

    assert (len(first["old"]), first["new"]) == (2, [])
    assert second["old"] == first["old"]
    assert sorted(second["new"]) == sorted(set(everything) - set(first["old"]))


def test_owner_of_the_later_round_is_believed() -> None:
    partition = TopicPartition("a", 0)
    old = Member(member_id="x", topics=["a"], owned=[partition], generation=3)
    new = Member(member_id="y", topics=["a"], owned=[partition], generation=4)

    assert CooperativeStickyAssignor().assign([old, new], {"a": 1}) == {"x": [], "y": [partition]}


counts = st.fixed_dictionaries({topic: st.integers(0, 7) for topic in TOPICS})
subscriptions = st.lists(st.sets(st.sampled_from(TOPICS), min_size=1), min_size=1, max_size=6)


@given(counts=counts, subscribed=subscriptions)
def test_every_partition_has_one_reader_who_wants_it(
    counts: Mapping[str, int], subscribed: list[set[str]]
) -> None:
    members = [
        Member(member_id=f"m{number}", topics=tuple(topics))
        for number, topics in enumerate(subscribed)
    ]
    wanted = sorted(
        TopicPartition(topic, index)
        for topic in set().union(*subscribed)
        for index in range(counts[topic])
    )

    for assignor in ASSIGNORS:
        assigned = assignor.assign(members, counts)

        assert sorted(p for parts in assigned.values() for p in parts) == wanted
        for member in members:
            assert all(p.topic in member.topics for p in assigned[member.member_id])


@given(counts=counts, before=st.integers(1, 6), after=st.integers(1, 6))
def test_sticky_group_comes_to_rest_evenly_and_moves_no_more_than_it_must(
    counts: Mapping[str, int], before: int, after: int
) -> None:
    sticky = CooperativeStickyAssignor()
    first = sticky.assign(members_of(*TOPICS, count=before), counts)
    total = sum(counts.values())

    owned, rounds = first, 0
    while True:
        members = [
            Member(
                member_id=f"m{number}",
                topics=TOPICS,
                owned=owned.get(f"m{number}", ()),
                generation=rounds,
            )
            for number in range(after)
        ]
        assigned = sticky.assign(members, counts)
        rounds += 1
        if all(set(assigned[m]) == set(owned.get(m, ())) for m in assigned):
            break
        owned = assigned
        assert rounds < 4, "it does not come to rest"

    sizes = [len(parts) for parts in assigned.values()]
    assert sum(sizes) == total
    assert max(sizes) - min(sizes) <= 1
    share = total // after
    for member in set(first) & set(assigned):
        kept = set(first[member]) & set(assigned[member])
        assert len(kept) >= min(share, len(first[member]))
