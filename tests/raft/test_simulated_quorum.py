"""Quorums of several nodes under faults drawn from a seed: one leader an epoch, and nothing committed is ever lost."""

import pytest

from klamm.raft.roles import Role
from support.simulated_quorum import Quorum

_SECOND = 1_000


def in_trouble(quorum: Quorum, steps: int) -> None:
    """Each step one of the faults begins or ends, somebody proposes, and some time passes."""
    chance = quorum.chance
    for _ in range(steps):
        victim = chance.choice(list(quorum.ids))
        fault = chance.random()
        if fault < 0.12 and victim in quorum.nodes:
            quorum.crash(victim)
        elif fault < 0.30 and victim not in quorum.nodes:
            quorum.start(victim)
        elif fault < 0.38:
            other = chance.choice(list(quorum.ids))
            quorum.cuts.add((victim, other))
            if chance.random() < 0.6:
                quorum.cuts.add((other, victim))
        elif fault < 0.50:
            quorum.cuts.clear()
        elif fault < 0.55:
            quorum.paused.symmetric_difference_update({victim})
        elif fault < 0.60:
            quorum.loss = chance.choice([0.0, 0.0, 0.1, 0.3])
        elif fault < 0.65:
            quorum.longest_delay = chance.choice([2, 20, 200, 800])
        elif fault < 0.75 and victim in quorum.nodes:
            quorum.snapshot(victim)
        for node in list(quorum.nodes.values()):
            if node.role is Role.LEADER and chance.random() < 0.7:
                quorum.propose(node, chance.randint(1, 3))
        quorum.run(quorum.now + chance.choice([1, 10, 100, 1_000, 3_000]))


def heal(quorum: Quorum) -> None:
    quorum.cuts.clear()
    quorum.paused.clear()
    quorum.loss = 0.0
    quorum.longest_delay = 20
    for node_id in quorum.ids:
        if node_id not in quorum.nodes:
            quorum.start(node_id)


@pytest.mark.parametrize("voters", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(12))
def test_a_quorum_in_trouble_commits_nothing_twice_and_recovers_when_it_ends(seed, voters):
    quorum = Quorum(seed, voters=voters, observers=seed % 3)
    in_trouble(quorum, steps=120)

    heal(quorum)
    quorum.run(quorum.now + 20 * _SECOND)
    leader = quorum.leader
    assert leader is not None
    quorum.propose(leader, 2)
    quorum.run(quorum.now + 3 * _SECOND)

    assert {node.high_watermark for node in quorum.nodes.values()} == {leader.end_offset}
    assert {node.leader_id for node in quorum.nodes.values()} == {leader.me.id}


def test_a_new_quorum_has_a_leader_within_three_seconds():
    quorum = Quorum(1, voters=3)

    quorum.run(3 * _SECOND)

    assert quorum.leader is not None


def test_a_leader_that_crashes_is_followed_by_another_within_the_fetch_timeout_and_an_election():
    quorum = Quorum(2, voters=3)
    quorum.run(5 * _SECOND)
    first = quorum.leader
    assert first is not None

    quorum.crash(first.me.id)
    quorum.run(quorum.now + 5 * _SECOND)

    assert quorum.leader is not None
    assert quorum.leader.me.id != first.me.id
    assert quorum.leader.epoch > first.epoch


def test_a_node_whose_process_is_gone_is_not_waited_for():
    quorum = Quorum(3, voters=3)
    quorum.run(5 * _SECOND)
    first = quorum.leader
    assert first is not None

    quorum.crash(first.me.id)
    for node_id, node in list(quorum.nodes.items()):
        quorum._do(node_id, node.unreachable(first.me.id, quorum.now))
    quorum.run(quorum.now + 400)

    assert quorum.leader is not None


def test_a_voter_that_was_cut_off_does_not_depose_the_leader_when_it_comes_back():
    quorum = Quorum(4, voters=3)
    quorum.run(5 * _SECOND)
    leader = quorum.leader
    assert leader is not None
    away = next(n for n in quorum.ids if n != leader.me.id)

    quorum.cuts = {(away, n) for n in quorum.ids} | {(n, away) for n in quorum.ids}
    quorum.run(quorum.now + 30 * _SECOND)
    quorum.cuts.clear()
    quorum.run(quorum.now + 5 * _SECOND)

    assert quorum.leader is leader
    assert quorum.nodes[away].leader_id == leader.me.id


def test_a_leader_without_its_majority_resigns_and_its_records_give_way():
    quorum = Quorum(5, voters=3)
    quorum.run(5 * _SECOND)
    old = quorum.leader
    assert old is not None
    quorum.cuts = {(old.me.id, n) for n in quorum.ids} | {(n, old.me.id) for n in quorum.ids}

    quorum.propose(old, 3)
    quorum.run(quorum.now + 10 * _SECOND)

    assert old.role is not Role.LEADER
    new = quorum.leader
    assert new is not None
    quorum.propose(new)
    quorum.cuts.clear()
    quorum.run(quorum.now + 5 * _SECOND)
    leader = quorum.leader
    assert leader is not None
    assert {node.high_watermark for node in quorum.nodes.values()} == {leader.end_offset}


def test_a_leader_that_resigns_is_followed_within_a_blink():
    quorum = Quorum(6, voters=3)
    quorum.run(5 * _SECOND)
    old = quorum.leader
    assert old is not None

    quorum._do(old.me.id, old.resign(quorum.now))
    quorum.run(quorum.now + 400)

    assert quorum.leader is not None
    assert quorum.leader is not old


def test_whoever_is_behind_the_beginning_of_the_log_is_given_a_snapshot():
    quorum = Quorum(7, voters=3, observers=1)
    quorum.run(5 * _SECOND)
    leader = quorum.leader
    assert leader is not None
    away = next(n for n in quorum.ids if n != leader.me.id)
    quorum.crash(away)
    for _ in range(50):
        quorum.propose(leader, 3)
        quorum.run(quorum.now + 50)
    quorum.run(quorum.now + _SECOND)
    quorum.stores[leader.me.id].take_snapshot(leader.high_watermark)
    quorum.stores[leader.me.id].clean()

    quorum.start(away)
    quorum.run(quorum.now + 10 * _SECOND)

    assert quorum.nodes[away].high_watermark == leader.high_watermark
    assert quorum.stores[away].start_offset > 0
    assert quorum.leader is leader
