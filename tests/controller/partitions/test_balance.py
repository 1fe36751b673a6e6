"""Leadership goes back to the preferred replicas, and, where that is allowed, to anybody at all."""

import pytest
from tests.controller.conftest import Machine

from klamm.base.ids import ZERO_UUID
from klamm.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

MINUTES = 60_000


@pytest.fixture
def living():
    """Nobody's session ends while the balance is looked at."""
    return Machine(brokers=3, broker_session_timeout_ms="100000000")


def wake(machine, now):
    machine.at(now, lambda controller, at: controller.wake(at))


def test_a_preferred_replica_in_sync_leads_again_after_a_while(living):
    living.put_partition("t", replicas=(1, 2, 3), isr=(2, 1), leader=2)
    living.put_partition("u", replicas=(3, 1, 2), isr=(1, 2), leader=1)
    assert living.controller.next_wake == 5 * MINUTES

    wake(living, 5 * MINUTES - 1)
    assert living.records == []
    wake(living, 5 * MINUTES)

    assert living.state("t") == (1, (2, 1), ())
    assert living.state("u") == (1, (1, 2), ())
    wake(living, 5 * MINUTES)
    assert living.controller.next_wake == 10 * MINUTES


def test_a_preferred_replica_that_does_not_serve_is_not_elected(living):
    living.put_partition("t", replicas=(1, 2, 3), isr=(2, 1), leader=2)
    living.put_broker(1, in_controlled_shutdown=True)

    wake(living, 5 * MINUTES)

    assert living.records == []


def test_there_is_no_balance_where_it_is_turned_off():
    machine = Machine(
        brokers=2, auto_leader_rebalance_enable="false", broker_session_timeout_ms="100000000"
    )
    machine.put_partition("t", replicas=(1, 2), isr=(2, 1), leader=2)

    for _ in range(3):
        wake(machine, 60 * MINUTES)

    assert machine.state("t")[0] == 2


def test_very_many_elections_are_held_in_rounds(living):
    for number in range(1_001):
        living.put_partition(f"t{number}", replicas=(1, 2), isr=(2, 1), leader=2)

    wake(living, 5 * MINUTES)
    assert len(living.records) == 1_000
    assert living.controller.next_wake <= 5 * MINUTES
    wake(living, 5 * MINUTES)
    assert len(living.records) == 1


@pytest.mark.parametrize("is_allowed", [True, False])
def test_whoever_lives_leads_as_soon_as_that_is_allowed(living, is_allowed):
    living.put_partition("t", replicas=(2, 3), isr=(2,), leader=-1)
    living.put_broker(2, is_fenced=True)
    value = "true" if is_allowed else "false"
    config = AlterableConfig(name="unclean.leader.election.enable", value=value)
    resource = AlterConfigsResource(resource_type=2, resource_name="t", configs=[config])
    request = IncrementalAlterConfigsRequest(resources=[resource])

    living.at(10, lambda controller, now: controller.incremental_alter_configs(request, now))
    assert living.controller.next_wake == 10
    wake(living, 10)

    partition = living.partition("t")
    assert (partition.leader, partition.isr) == ((3, (3,)) if is_allowed else (-1, (2,)))
    assert partition.leader_recovery_state == (1 if is_allowed else 0)
    assert ZERO_UUID not in partition.directories


def test_where_it_is_allowed_anybody_leads_when_the_isr_is_gone():
    machine = Machine(brokers=2)
    machine.put_config("t", unclean_leader_election_enable="true")
    machine.put_partition("t", replicas=(1, 2), isr=(1,), leader=1)

    machine.at(1, lambda controller, now: controller.connection_lost(1, now))

    assert machine.state("t") == (2, (2,), ())
    assert machine.partition("t").leader_recovery_state == 1
