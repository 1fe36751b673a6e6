"""Brokers say that they live; what they may do next, and what becomes of those who are silent."""

import pytest
from tests.controller.conftest import BROKER_EPOCH, DIRECTORY, Machine, directory

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.metadata.records.nodes import BrokerRegistrationChangeRecord
from klamm.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest

SESSION = 9_000


def beat(machine, broker_id, now=0, **wishes):
    wishes = {"current_metadata_offset": machine.image.offset, **wishes}
    request = BrokerHeartbeatRequest(
        broker_id=broker_id, broker_epoch=wishes.pop("broker_epoch", BROKER_EPOCH), **wishes
    )
    reply = machine.at(now, lambda controller, at: controller.heartbeat(request, at))
    return reply.is_caught_up, reply.is_fenced, reply.should_shut_down


def wake(machine, now):
    machine.at(now, lambda controller, at: controller.wake(at))


def test_a_heartbeat_of_a_broker_that_serves_changes_nothing(three):
    assert beat(three, 1) == (True, False, False)
    assert three.records == []


@pytest.mark.parametrize(("broker_id", "epoch"), [(9, BROKER_EPOCH), (1, BROKER_EPOCH - 1)])
def test_an_earlier_incarnation_is_not_heard(three, broker_id, epoch):
    with pytest.raises(ApiError) as refused:
        beat(three, broker_id, broker_epoch=epoch)

    assert refused.value.code == ErrorCode.STALE_BROKER_EPOCH


def test_a_fenced_broker_serves_when_it_has_caught_up_and_wants_to(three):
    three.put_broker(2, is_fenced=True)
    three.put_partition("t", replicas=(2, 3), isr=(2,), leader=-1)

    assert beat(three, 2, current_metadata_offset=BROKER_EPOCH - 1) == (False, True, False)
    assert beat(three, 2, want_fence=True) == (True, True, False)
    assert three.records == []
    assert beat(three, 2) == (True, False, False)

    assert three.image.brokers[2].is_active
    assert three.state("t") == (2, (2,), ())


def test_a_broker_that_wants_to_be_fenced_is(three):
    three.put_partition("t", replicas=(1, 2, 3), isr=(1, 2, 3), leader=1)

    assert beat(three, 1, want_fence=True) == (True, True, False)

    assert three.image.brokers[1].is_fenced
    assert three.state("t") == (2, (2, 3), ())
    # What it held is taken from it first.
    assert isinstance(three.records[-1], BrokerRegistrationChangeRecord)


def test_a_silent_broker_is_fenced_when_its_session_ends(three):
    three.put_partition("t", replicas=(1, 2, 3), isr=(1, 2, 3), leader=1)
    beat(three, 2, now=5_000)
    beat(three, 3, now=6_000)
    assert three.controller.next_wake == SESSION + 1

    wake(three, SESSION)
    assert three.records == []
    wake(three, SESSION + 1)

    assert three.image.brokers[1].is_fenced
    assert three.state("t") == (2, (2, 3), ())
    assert three.controller.next_wake == 5_000 + SESSION + 1


def test_who_could_not_be_heard_is_not_held_to_have_been_silent(three):
    three.controller.slept(30_000)

    assert three.controller.next_wake == 30_000 + SESSION + 1
    wake(three, 30_000 + SESSION)
    assert three.records == []


def test_a_broker_that_was_silent_before_this_controller_began_has_less_than_a_session(three):
    three.controller.silent_since(2, -3_000)
    three.controller.silent_since(9, -3_000)

    wake(three, SESSION - 3_000)
    assert three.records == []
    wake(three, SESSION - 3_000 + 1)

    assert three.image.brokers[2].is_fenced


def test_a_broker_of_the_controllers_own_process_holds_up_nobody_who_stops(three):
    three.put_partition("t", replicas=(1, 2, 3), isr=(1, 2, 3), leader=1)
    three.controller.lives_here(2)
    beat(three, 1, want_shut_down=True)
    beat(three, 3)

    assert beat(three, 1, want_shut_down=True) == (True, True, True)


def test_silent_brokers_are_fenced_one_by_one(three):
    for _ in range(3):
        assert three.controller.next_wake == SESSION + 1
        wake(three, SESSION + 1)

    assert three.controller.next_wake > 2 * SESSION
    assert all(each.is_fenced for each in three.image.brokers.values())


def test_a_process_that_is_gone_is_not_waited_for(three):
    three.put_partition("t", replicas=(1, 2, 3), isr=(1, 2, 3), leader=1)

    three.at(10, lambda controller, now: controller.connection_lost(1, now))
    assert three.state("t") == (2, (2, 3), ())
    three.at(20, lambda controller, now: controller.connection_lost(1, now))

    assert three.records == []


def test_the_last_member_of_the_isr_stays_eligible_when_it_is_fenced():
    machine = Machine(brokers=2)
    machine.put_partition("t", replicas=(1, 2), isr=(1,), leader=1)

    wake(machine, SESSION + 1)

    assert machine.state("t") == (-1, (), (1,))
    assert machine.partition("t").last_known_elr == (1,)


# Controlled shutdown


def test_a_broker_that_stops_hands_over_first_and_goes_when_the_others_know(three):
    three.put_partition("t", replicas=(1, 2, 3), isr=(1, 2, 3), leader=1)
    before = three.image.offset
    beat(three, 2)
    beat(three, 3)

    assert beat(three, 1, want_shut_down=True) == (True, False, False)
    assert three.image.brokers[1].in_controlled_shutdown
    assert three.state("t") == (2, (2, 3), ())
    moved = three.image.offset

    # The others have not read it yet.
    assert beat(three, 1, want_shut_down=True) == (True, False, False)
    beat(three, 2, current_metadata_offset=moved)
    beat(three, 3, current_metadata_offset=before)
    assert beat(three, 1, want_shut_down=True) == (True, False, False)
    beat(three, 3, current_metadata_offset=moved)
    assert beat(three, 1, want_shut_down=True) == (True, True, True)
    assert three.image.brokers[1].is_fenced


def test_a_broker_that_leads_nothing_may_go_at_once(three):
    three.put_partition("t", replicas=(1, 2, 3), isr=(1, 2, 3), leader=2)

    assert beat(three, 1, want_shut_down=True) == (True, True, True)

    assert three.state("t") == (2, (2, 3), ())


def test_the_last_broker_goes_when_it_has_let_go(machine):
    machine.put_partition("t", replicas=(1,), isr=(1,), leader=1)

    assert beat(machine, 1, want_shut_down=True) == (True, False, False)
    assert machine.state("t") == (-1, (), (1,))

    assert beat(machine, 1, want_shut_down=True) == (True, True, True)


def test_a_fenced_broker_may_go_at_once(three):
    three.put_broker(1, is_fenced=True)

    assert beat(three, 1, want_shut_down=True) == (True, True, True)
    assert three.records == []


def test_a_broker_that_stops_and_falls_silent_is_fenced(three):
    three.put_partition("t", replicas=(1, 2, 3), isr=(1, 2, 3), leader=1)
    beat(three, 2, now=8_000)
    beat(three, 3, now=8_000)
    beat(three, 1, now=1_000, want_shut_down=True)

    wake(three, 1_001 + SESSION)

    assert three.image.brokers[1].is_fenced


# Directories


def test_what_lies_in_a_failed_directory_leaves_the_isr(three):
    other = directory(1, "b")
    three.put_broker(1, directories=(DIRECTORY, other))
    three.put_partition("here", replicas=(1, 2, 3), isr=(1, 2, 3), leader=1)
    three.put_partition(
        "there", replicas=(1, 2, 3), isr=(1, 2, 3), leader=1, directories=(other,) * 3
    )

    beat(three, 1, offline_log_dirs=[DIRECTORY, Uuid(b"not-of-this-one-")])

    assert three.state("here") == (2, (2, 3), ())
    assert three.state("there") == (1, (1, 2, 3), ())
    assert three.image.brokers[1].directories == (other,)
    beat(three, 1, offline_log_dirs=[DIRECTORY])
    assert three.records == []


def test_a_replica_in_a_failed_directory_does_not_lead(three):
    three.put_broker(2, directories=(directory(2, "b"),))
    three.put_partition("t", replicas=(1, 2, 3), isr=(1, 2, 3), leader=1)

    wake(three, SESSION + 1)

    assert three.state("t")[0] == 3


def test_directories_are_cordoned_and_freed(three):
    assert three.image.brokers[2].cordoned_directories == ()

    beat(three, 2, cordoned_log_dirs=[directory(2)])
    assert three.image.brokers[2].cordoned_directories == (directory(2),)
    beat(three, 2, cordoned_log_dirs=[directory(2)])
    assert three.records == []
    beat(three, 2, cordoned_log_dirs=None)
    assert three.records == []
    beat(three, 2, cordoned_log_dirs=[])

    assert three.image.brokers[2].cordoned_directories == ()
