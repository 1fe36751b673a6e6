"""Quorum arithmetic against twins that count in the most naive way."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from klamm.raft import rules

ENDS = st.dictionaries(st.integers(1, 9), st.integers(0, 20), min_size=1, max_size=7)


@given(st.integers(1, 9))
def test_any_two_majorities_overlap_and_smaller_sets_need_not(count):
    voters = range(count)
    size = rules.majority(count)

    majorities = [set(each) for each in combinations(voters, size)]
    assert all(one & other for one in majorities for other in majorities)
    smaller = [set(each) for each in combinations(voters, size - 1)]
    assert not all(one & other for one in smaller for other in smaller)


@given(st.sets(st.integers(1, 9), min_size=1), st.sets(st.integers(1, 12)))
def test_only_votes_of_voters_count(voters, granted):
    counted = sum(1 for voter in voters if voter in granted)

    assert rules.is_majority(granted, voters) == (2 * counted > len(voters))


@given(ENDS)
def test_the_durable_end_is_the_highest_offset_that_more_than_half_hold(ends):
    def is_held(offset):
        return 2 * sum(1 for end in ends.values() if end >= offset) > len(ends)

    assert rules.durable_end(ends) == max(offset for offset in range(21) if is_held(offset))


@given(ENDS, st.integers(0, 20), st.integers(0, 20))
def test_a_leader_commits_from_its_own_epoch_on_and_never_takes_back(ends, epoch_start, current):
    after = rules.high_watermark(ends, epoch_start=epoch_start, current=current)

    assert after >= current
    if after > current:
        assert after == rules.durable_end(ends) > epoch_start
