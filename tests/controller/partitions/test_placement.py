"""Replica placement: balanced, spread over racks, the same for the same seed."""

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from klamm.base.errors import ApiError
from klamm.base.ids import ZERO_UUID, Uuid
from klamm.controller.partitions.placement import place
from klamm.metadata.image import BrokerImage

DIRECTORY, OTHER = Uuid(b"directory-of-one"), Uuid(b"directory-of-two")


def brokers(count, *, racks=1, fenced=()):
    return {
        each: BrokerImage(each, 0, ZERO_UUID, rack=f"rack-{each % racks}", is_fenced=each in fenced)
        for each in range(1, count + 1)
    }


def placed(cluster, partitions, factor, seed=0):
    return place(
        cluster, partitions=partitions, replication_factor=factor, chance=random.Random(seed)
    )


@given(
    count=st.integers(1, 9),
    racks=st.integers(1, 4),
    partitions=st.integers(1, 40),
    factor=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_replicas_are_distinct_leaders_are_balanced_and_racks_are_used(
    count, racks, partitions, factor, seed
):
    cluster = brokers(count, racks=racks)
    factor = min(factor, count)

    result = placed(cluster, partitions, factor, seed)

    assert len(result) == partitions
    used = min(factor, len({broker.rack for broker in cluster.values()}))
    for replicas in result:
        assert len(set(replicas)) == len(replicas) == factor
        assert len({cluster[each].rack for each in replicas}) == used
    leaders = Counter(replicas[0] for replicas in result)
    assert max(leaders.values()) - min(leaders.get(each, 0) for each in cluster) <= 1


def test_the_same_seed_places_the_same():
    assert placed(brokers(5), 20, 3, seed=4) == placed(brokers(5), 20, 3, seed=4)


def test_partitions_of_one_leader_do_not_share_all_their_followers():
    result = placed(brokers(5), 20, 2)

    followers = {replicas[1] for replicas in result if replicas[0] == 1}
    assert len(followers) > 1


def test_fenced_brokers_never_lead_and_are_taken_last():
    cluster = brokers(4, fenced=(1,))

    assert all(1 not in replicas for replicas in placed(cluster, 12, 3))
    assert all(replicas[-1] == 1 for replicas in placed(cluster, 12, 4))


def test_nothing_goes_to_a_broker_that_is_about_to_stop_or_is_cordoned():
    cluster = brokers(4)
    cluster[1] = replace(cluster[1], in_controlled_shutdown=True)
    cluster[2] = replace(
        cluster[2], directories=(DIRECTORY, OTHER), cordoned_directories=(DIRECTORY, OTHER)
    )
    cluster[3] = replace(
        cluster[3], directories=(DIRECTORY, OTHER), cordoned_directories=(DIRECTORY,)
    )

    used = {each for replicas in placed(cluster, 12, 2) for each in replicas}
    assert used == {3, 4}
    with pytest.raises(ApiError) as refused:
        placed(cluster, 1, 3)
    assert "only 2 broker(s) are registered" in refused.value.message


@pytest.mark.parametrize(
    ("cluster", "factor", "why"),
    [
        (
            brokers(2),
            3,
            "The target replication factor of 3 cannot be reached because only 2 broker(s) are "
            "registered or some brokers have all their log directories cordoned.",
        ),
        (brokers(2, fenced=(1, 2)), 1, "All brokers are currently fenced."),
    ],
)
def test_what_cannot_be_placed_is_refused(cluster, factor, why):
    with pytest.raises(ApiError, match="Unable to replicate") as refused:
        placed(cluster, 1, factor)

    assert refused.value.message == f"Unable to replicate the partition {factor} time(s): {why}"
