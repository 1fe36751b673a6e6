"""Brokers register, serve, leave and come back, and what that does to partitions."""

import pytest
from tests.controller.conftest import BROKER_EPOCH

from klamm.base.clock import Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import Uuid
from klamm.metadata.features import SUPPORTED
from klamm.metadata.image import Endpoint
from klamm.metadata.records.nodes import BrokerRegistrationChangeRecord, RegisterBrokerRecord
from klamm.metadata.records.topics import PartitionChangeRecord
from klamm.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from klamm.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from klamm.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.unregister_broker import UnregisterBrokerRequest

_DIRECTORIES = {
    1: [Uuid(b"directory-of-one")],
    2: [Uuid(b"second-of-two---"), Uuid(b"first-of-two----")],
}


def registration(
    broker_id=1, *, previous=-1, cluster_id="cluster", features=SUPPORTED, directories=()
):
    return BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=cluster_id,
        incarnation_id=Uuid(b"a-second-life---"),
        listeners=[Listener(name="PLAINTEXT", host="localhost", port=9092)],
        features=[
            Feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in features.items()
        ],
        rack=None,
        log_dirs=directories or _DIRECTORIES[broker_id],
        previous_broker_epoch=previous,
    )


LATER = Now(60_000, 60_000)


def register(machine, request, now=LATER):
    """After the session of an earlier incarnation has ended."""
    return machine.do(lambda controller: controller.register_broker(request, now))


def beat(machine, broker_id, **wishes):
    request = BrokerHeartbeatRequest(
        broker_id=broker_id,
        broker_epoch=machine.image.brokers[broker_id].epoch,
        current_metadata_offset=machine.image.offset,
        **wishes,
    )
    return machine.at(60_000, lambda controller, now: controller.heartbeat(request, now))


def unfence(machine, broker_id=1):
    assert not beat(machine, broker_id).is_fenced


def shut_down(machine, broker_id=1):
    """From the announcement to the end."""
    beat(machine, broker_id, want_shut_down=True)
    records = machine.records
    assert beat(machine, broker_id, want_shut_down=True).should_shut_down
    machine.records = [*records, *machine.records]


@pytest.fixture
def partition(machine):
    """The partition t-0 as it is at the time of the call."""
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    machine.do(lambda controller: controller.create_topics(CreateTopicsRequest(topics=[topic]), 0))
    return lambda: machine.image.partition("t", 0)


def test_a_new_broker_is_registered_fenced_with_the_offset_as_its_epoch(machine):
    next_offset = machine.image.offset + 1

    reply = register(machine, registration(2))

    broker = machine.image.brokers[2]
    assert reply.broker_epoch == broker.epoch == next_offset
    assert broker.is_fenced
    assert broker.endpoints == (Endpoint("PLAINTEXT", "localhost", 9092),)
    assert broker.directories == (Uuid(b"first-of-two----"), Uuid(b"second-of-two---"))
    assert broker.features == SUPPORTED


def test_an_unfenced_broker_is_active(machine):
    register(machine, registration(2))

    unfence(machine, 2)

    assert machine.image.brokers[2].is_active
    assert [type(each) for each in machine.records] == [BrokerRegistrationChangeRecord]


def test_a_broker_of_another_cluster_is_refused(machine):
    with pytest.raises(ApiError) as refused:
        register(machine, registration(2, cluster_id="other"))

    assert refused.value.code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert refused.value.message == "Expected cluster ID cluster, but got cluster ID other"


def test_a_broker_that_lacks_a_feature_in_force_is_refused(machine):
    features = {**SUPPORTED, "group.version": (0, 0)}

    with pytest.raises(ApiError) as refused:
        register(machine, registration(2, features=features))

    assert refused.value.code == ErrorCode.UNSUPPORTED_VERSION


def test_a_clean_stop_leaves_the_partition_waiting_for_its_eligible_leader(machine, partition):
    shut_down(machine)

    assert [type(each) for each in machine.records] == [
        BrokerRegistrationChangeRecord,
        PartitionChangeRecord,
        BrokerRegistrationChangeRecord,
    ]
    waiting = partition()
    assert (waiting.leader, waiting.isr, waiting.elr) == (-1, (), (1,))
    assert waiting.last_known_elr == (1,)
    assert machine.image.brokers[1].is_fenced


def test_after_a_clean_stop_the_broker_leads_again_in_a_new_epoch(machine, partition):
    epoch = partition().leader_epoch
    previous = machine.image.brokers[1].epoch
    shut_down(machine)

    register(machine, registration(previous=previous))
    unfence(machine)

    again = partition()
    assert (again.leader, again.isr, again.elr, again.last_known_elr) == (1, (1,), (), ())
    assert again.leader_epoch == epoch + 2
    assert again.leader_recovery_state == 0


def test_after_a_crash_the_only_replica_leads_again_in_a_new_epoch(machine, partition):
    epoch = partition().leader_epoch

    register(machine, registration())
    assert type(machine.records[-1]) is RegisterBrokerRecord
    assert partition().leader == -1
    unfence(machine)

    again = partition()
    assert (again.leader, again.isr, again.elr) == (1, (1,), ())
    assert again.leader_epoch > epoch
    assert again.leader_recovery_state == 0


def test_a_stopped_broker_that_crashed_later_is_not_counted_on_but_has_all_there_is(
    machine, partition
):
    shut_down(machine)

    register(machine, registration(previous=-1))
    assert partition().elr == ()
    unfence(machine)

    assert (partition().leader, partition().isr) == (1, (1,))


def test_producer_ids_come_in_blocks_that_never_overlap(machine):
    request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=machine.image.brokers[1].epoch)

    blocks = [machine.do(lambda c: c.allocate_producer_ids(request, 0)) for _ in range(3)]

    assert [(each.producer_id_start, each.producer_id_len) for each in blocks] == [
        (0, 1000),
        (1000, 1000),
        (2000, 1000),
    ]


@pytest.mark.parametrize(
    ("broker_id", "epoch", "code"),
    [(9, 11, ErrorCode.BROKER_ID_NOT_REGISTERED), (1, 10, ErrorCode.STALE_BROKER_EPOCH)],
)
def test_only_a_living_broker_gets_producer_ids(machine, broker_id, epoch, code):
    request = AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch)

    with pytest.raises(ApiError) as refused:
        machine.do(lambda controller: controller.allocate_producer_ids(request, 0))

    assert refused.value.code == code


# Several incarnations


def heard(machine, broker_id, now):
    request = BrokerHeartbeatRequest(broker_id=broker_id, broker_epoch=BROKER_EPOCH)
    machine.at(now, lambda controller, at: controller.heartbeat(request, at))


def test_a_number_that_is_in_use_is_refused_until_the_session_of_the_other_one_ends(machine):
    heard(machine, 1, 1_000)

    with pytest.raises(ApiError) as refused:
        register(machine, registration(), Now(10_000, 0))
    assert refused.value.code == ErrorCode.DUPLICATE_BROKER_REGISTRATION

    register(machine, registration(), Now(10_001, 0))
    assert machine.image.brokers[1].epoch > BROKER_EPOCH


def test_a_broker_that_this_controller_never_heard_is_not_waited_for(machine):
    register(machine, registration(), Now(1, 1))

    assert machine.image.brokers[1].epoch > BROKER_EPOCH


def test_the_same_incarnation_may_register_again_and_stays_what_it_is(machine):
    register(machine, registration(2))
    unfence(machine, 2)
    before = machine.image.brokers[2]

    reply = register(machine, registration(2), Now(60_001, 0))

    assert reply.broker_epoch == before.epoch
    assert machine.image.brokers[2] == before


def test_a_crashed_broker_that_nobody_has_fenced_yet_is_not_counted_on(three):
    three.put_partition("t", replicas=(1, 2, 3), isr=(1, 2), leader=1)
    three.put_partition("u", replicas=(1, 2, 3), isr=(2,), leader=2, elr=(1, 3))

    register(three, registration(1, previous=-1))

    assert three.state("t") == (2, (2,), ())
    assert three.state("u") == (2, (2,), (3,))


def test_a_broker_that_stopped_cleanly_stays_eligible(three):
    three.put_partition("t", replicas=(1, 2, 3), isr=(1, 2), leader=1)

    register(three, registration(1, previous=BROKER_EPOCH))

    assert three.state("t") == (2, (2,), (1,))


@pytest.mark.parametrize(
    "directories",
    [
        [Uuid(b"twice-the-same--")] * 2,
        [Uuid(b"directory-of-one")],
        [Uuid(bytes(15) + b"\x01")],
    ],
)
def test_a_directory_belongs_to_one_broker_and_has_an_id_of_its_own(machine, directories):
    with pytest.raises(ApiError) as refused:
        register(machine, registration(2, directories=directories))

    assert refused.value.code == ErrorCode.INVALID_REGISTRATION


def unregister(machine, broker_id):
    request = UnregisterBrokerRequest(broker_id=broker_id)
    machine.at(0, lambda controller, now: controller.unregister_broker(request, now))


def test_a_broker_that_is_unregistered_leads_nothing_and_is_forgotten(three):
    three.put_partition("t", replicas=(1, 2, 3), isr=(1, 2, 3), leader=1)
    three.put_partition("u", replicas=(1, 2, 3), isr=(2,), leader=2, elr=(1,))

    unregister(three, 1)

    assert list(three.image.brokers) == [2, 3]
    assert three.state("t") == (2, (2, 3), ())
    assert three.state("u") == (2, (2,), ())
    assert three.partition("t").replicas == (1, 2, 3)


def test_only_a_registered_broker_can_be_unregistered(three):
    with pytest.raises(ApiError) as refused:
        unregister(three, 9)

    assert refused.value.code == ErrorCode.BROKER_ID_NOT_REGISTERED
    assert refused.value.message == "Broker ID 9 is not currently registered"
