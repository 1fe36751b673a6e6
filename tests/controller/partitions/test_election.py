"""Who leads when a broker leaves or comes back, and when somebody asks for another leader."""

import pytest

from klamm.base.ids import Uuid
from klamm.controller.partitions.change import Election, Rules, change
from klamm.metadata.effects import changed_partition
from klamm.metadata.image import PartitionImage

TOPIC = Uuid(b"topic-of-choice-")
WITH_ELR = Rules(is_elr_enabled=True, min_isr=2)
WITHOUT_ELR = Rules(is_elr_enabled=False, min_isr=2)


def a_partition(isr, leader, *, replicas=(1, 2, 3), elr=(), last_known=()):
    return PartitionImage(
        replicas=replicas,
        isr=isr,
        leader=leader,
        leader_epoch=5,
        partition_epoch=9,
        elr=elr,
        last_known_elr=last_known,
    )


def changed(partition, dead=(), rules=WITH_ELR, **wanted):
    record = change(
        TOPIC,
        0,
        partition,
        rules=rules,
        is_acceptable=lambda _, broker: broker not in dead,
        **wanted,
    )
    return partition if record is None else changed_partition(partition, record)


def leave(partition, broker, rules=WITH_ELR, dead=(), *, has_crashed=False):
    return changed(
        partition,
        (broker, *dead),
        rules,
        isr=tuple(each for each in partition.isr if each != broker),
        crashed=broker if has_crashed else None,
    )


def come_back(partition, broker):
    """It alone lives."""
    return changed(partition, [each for each in partition.replicas if each != broker])


def test_the_next_replica_in_sync_leads_in_a_new_epoch():
    after = leave(a_partition((3, 2, 1), 1), 1)

    assert (after.leader, after.isr, after.leader_epoch) == (2, (3, 2), 6)


def test_a_follower_leaves_without_a_new_leader_epoch():
    after = leave(a_partition((1, 2, 3), 1), 3)

    assert (after.leader, after.isr, after.leader_epoch, after.partition_epoch) == (
        1,
        (1, 2),
        5,
        10,
    )


def test_a_broker_that_has_no_part_in_it_changes_nothing():
    partition = a_partition((1, 2), 1)

    assert leave(partition, 3) is partition


def test_a_fenced_member_of_the_isr_is_not_elected():
    after = leave(a_partition((1, 2, 3), 1), 1, dead=(2,))

    assert after.leader == 3


def test_below_the_minimum_those_who_left_stay_eligible():
    after = leave(a_partition((1, 2), 1), 2)
    assert (after.isr, after.elr, after.last_known_elr) == ((1,), (2,), ())

    last = leave(after, 1, dead=(2,))
    assert (last.leader, last.isr, last.elr, last.last_known_elr) == (-1, (), (1, 2), (1,))


def test_a_broker_that_crashed_does_not_stay_eligible():
    after = leave(a_partition((1, 2), 1), 2, has_crashed=True)

    assert (after.leader, after.isr, after.elr) == (1, (1,), ())


def test_a_broker_that_crashed_as_the_last_one_is_remembered_as_the_last_leader():
    after = leave(a_partition((1,), 1, elr=(2,)), 1, dead=(2,), has_crashed=True)

    assert (after.leader, after.isr, after.elr, after.last_known_elr) == (-1, (), (2,), (1,))


def test_an_eligible_replica_that_crashed_is_not_eligible_any_more():
    after = leave(a_partition((1,), 1, elr=(2, 3)), 2, has_crashed=True)

    assert (after.leader, after.isr, after.elr) == (1, (1,), (3,))


def test_a_living_eligible_replica_leads_when_the_last_member_of_the_isr_leaves():
    after = leave(a_partition((1,), 1, elr=(2, 3)), 1, dead=(2,))

    assert (after.leader, after.isr, after.elr, after.last_known_elr) == (3, (3,), (1, 2), ())
    assert after.leader_recovery_state == 0


def test_at_the_minimum_nobody_needs_to_be_eligible():
    after = leave(a_partition((1, 2, 3), 1), 3)

    assert after.elr == ()


def test_without_an_elr_the_last_member_stays_in_the_isr():
    after = leave(a_partition((1,), 1), 1, WITHOUT_ELR)

    assert (after.leader, after.isr, after.elr) == (-1, (1,), ())
    assert come_back(after, 1).leader == 1


@pytest.mark.parametrize("broker", [1, 2])
def test_an_eligible_replica_leads_when_the_isr_is_empty(broker):
    waiting = a_partition((), -1, elr=(1, 2), last_known=(1,))

    after = come_back(waiting, broker)

    assert (after.leader, after.isr) == (broker, (broker,))
    assert after.elr == tuple(each for each in (1, 2) if each != broker)
    assert after.last_known_elr == ()
    assert after.leader_recovery_state == 0


def test_when_nobody_is_eligible_the_last_leader_leads_and_recovers():
    waiting = a_partition((), -1, elr=(), last_known=(1,))

    assert come_back(waiting, 2) is waiting
    after = come_back(waiting, 1)
    assert (after.leader, after.isr, after.leader_recovery_state) == (1, (1,), 1)


def test_a_replica_outside_the_isr_waits_for_a_member():
    waiting = a_partition((2,), -1)

    assert come_back(waiting, 1) is waiting


def test_a_partition_that_has_a_leader_stays_as_it_is():
    partition = a_partition((1, 2), 1)

    assert changed(partition) is partition


def test_a_crash_costs_a_broker_its_eligibility():
    partition = a_partition((), -1, elr=(1, 2), last_known=(1,))

    assert leave(partition, 1, dead=(2,), has_crashed=True).elr == (2,)
    assert leave(partition, 3, dead=(1, 2), has_crashed=True) is partition


preferred = Election.PREFERRED
unclean = Election.UNCLEAN


def choose(kind, partition, dead=()):
    return changed(partition, dead, election=kind)


def test_the_preferred_replica_takes_over_when_it_is_in_sync():
    after = choose(preferred, a_partition((2, 1), 2))

    assert (after.leader, after.isr, after.leader_epoch) == (1, (2, 1), 6)


@pytest.mark.parametrize(("isr", "dead"), [((2, 3), ()), ((1, 2), (1,))])
def test_a_preferred_replica_that_cannot_lead_leaves_the_leader_in_office(isr, dead):
    partition = a_partition(isr, 2)

    assert choose(preferred, partition, dead) is partition


def test_where_nobody_leads_another_member_is_better_than_none():
    after = choose(preferred, a_partition((2, 3), -1), dead=(1, 2))

    assert (after.leader, after.isr) == (3, (2, 3))


def test_a_preferred_election_loses_no_records():
    waiting = a_partition((2,), -1)

    assert choose(preferred, waiting, dead=(2,)) is waiting


@pytest.mark.parametrize("kind", [preferred, unclean])
def test_without_anybody_eligible_the_last_leader_is_asked_first(kind):
    after = choose(kind, a_partition((), -1, last_known=(2,)))

    assert (after.leader, after.isr, after.last_known_elr) == (2, (2,), ())
    assert after.leader_recovery_state == 1


def test_an_unclean_election_takes_a_member_in_sync_if_there_is_one():
    after = choose(unclean, a_partition((3,), -1))

    assert (after.leader, after.isr, after.leader_recovery_state) == (3, (3,), 0)


def test_an_unclean_election_takes_an_eligible_replica_before_the_others():
    after = choose(unclean, a_partition((), -1, elr=(2, 3), last_known=(3,)))

    assert (after.leader, after.isr, after.elr) == (2, (2,), (3,))
    assert (after.last_known_elr, after.leader_recovery_state) == ((), 0)


def test_an_unclean_election_takes_whoever_lives():
    after = choose(unclean, a_partition((3,), -1, elr=(2,)), dead=(1, 3))

    assert (after.leader, after.isr, after.elr, after.leader_recovery_state) == (2, (2,), (), 1)


def test_nobody_lives_and_nobody_leads():
    waiting = a_partition((3,), -1)

    assert choose(unclean, waiting, dead=(1, 2, 3)) is waiting
