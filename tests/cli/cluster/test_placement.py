"""Where the replicas of a broker that leaves go."""

import pytest

from klamm.base.ids import TopicPartition
from klamm.cli.cluster.moves.placement import NoPlace, spread, without

NO_RACKS = dict.fromkeys((1, 2, 3, 4))


def place(number: int) -> TopicPartition:
    return TopicPartition("orders", number)


def test_what_the_broker_does_not_hold_stays_where_it_is() -> None:
    assert without(4, {place(0): (1, 2)}, NO_RACKS) == {}


def test_the_broker_with_the_fewest_replicas_takes_the_next() -> None:
    replicas = {place(0): (1, 2), place(1): (1, 4), place(2): (2, 4), place(3): (4,)}

    plan = without(4, replicas, NO_RACKS)

    assert plan == {place(1): (1, 3), place(2): (2, 3), place(3): (1,)}


def test_the_new_replica_takes_the_place_of_the_old_one() -> None:
    assert without(4, {place(0): (1, 4, 2)}, NO_RACKS) == {place(0): (1, 3, 2)}


def test_a_rack_of_its_own_is_worth_more_than_an_even_load() -> None:
    racks = {1: "a", 2: "a", 3: "b"}
    replicas = {place(0): (1, 4), place(1): (3,), place(2): (3,)}

    assert without(4, replicas, racks) == {place(0): (1, 3)}


def test_racks_are_shared_where_there_is_no_other_way() -> None:
    assert without(4, {place(0): (1, 4)}, {1: "a", 2: "a"}) == {place(0): (1, 2)}


def test_no_other_broker_is_told() -> None:
    with pytest.raises(NoPlace, match="orders-0 has 2 replicas"):
        without(4, {place(0): (1, 4)}, {1: None})


def test_each_broker_leads_in_turn() -> None:
    assert [spread((1, 2, 3), number) for number in range(4)] == [
        (1, 2, 3),
        (2, 3, 1),
        (3, 1, 2),
        (1, 2, 3),
    ]
