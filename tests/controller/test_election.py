"""Who leads when a broker leaves or comes back."""

import pytest

from klamm.base.ids import Uuid
from klamm.controller.election import Rules, not_eligible, with_broker, without_broker
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


def leave(partition, broker, rules=WITH_ELR, dead=()):
    record = without_broker(
        TOPIC, 0, partition, broker, rules=rules, is_active=lambda each: each not in (broker, *dead)
    )
    return partition if record is None else changed_partition(partition, record)


def come_back(partition, broker):
    record = with_broker(TOPIC, 0, partition, broker)
    return partition if record is None else changed_partition(partition, record)


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

    last = leave(after, 1)
    assert (last.leader, last.isr, last.elr, last.last_known_elr) == (-1, (), (1, 2), (1,))


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

    assert come_back(partition, 3) is partition


def test_a_crash_costs_a_broker_its_eligibility():
    partition = a_partition((), -1, elr=(1, 2), last_known=(1,))

    record = not_eligible(TOPIC, 0, partition, 1)

    assert record is not None
    assert changed_partition(partition, record).elr == (2,)
    assert not_eligible(TOPIC, 0, partition, 3) is None
