"""Every kind of record does to an image what it says, and records that make no sense stop the replay."""

from dataclasses import replace

import pytest

from klamm.base.ids import ZERO_UUID, TopicPartition
from klamm.metadata.delta import ReplayError
from klamm.metadata.effects import EFFECTS
from klamm.metadata.framing import RECORDS
from klamm.metadata.image import (
    AclImage,
    ClusterImage,
    ConfigKey,
    DelegationTokenImage,
    Endpoint,
    QuotaPart,
    ScramImage,
    ScramKey,
    VersionRange,
)
from klamm.metadata.records.configs import (
    ClientQuotaRecord,
    ConfigRecord,
    EntityData,
    FeatureLevelRecord,
)
from klamm.metadata.records.log import NoOpRecord
from klamm.metadata.records.nodes import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from klamm.metadata.records.security import (
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
)
from klamm.metadata.records.topics import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from klamm.metadata.replay import apply


def then(image, *records):
    return apply(image, records, offset=image.offset + len(records), epoch=1)


def test_every_record_of_the_log_can_be_replayed():
    transactions = {"BeginTransactionRecord", "EndTransactionRecord", "AbortTransactionRecord"}

    names = {cls.__name__ for cls in RECORDS.values()}

    assert names - transactions == {cls.__name__ for cls in EFFECTS}


def test_an_image_holds_what_the_records_say(full_image, make_id):
    broker = full_image.brokers[1]
    assert broker.endpoints == (Endpoint("A", "h", 9092, 1),)
    assert broker.features == {"group.version": VersionRange(0, 1)}
    assert (broker.rack, broker.is_fenced, broker.in_controlled_shutdown) == ("r", False, True)
    assert full_image.controllers[1].endpoints == (Endpoint("C", "h", 9093),)
    assert full_image.features == {"metadata.version": 30, "group.version": 1}
    assert full_image.config(2, "orders") == {"retention.ms": "5"}
    assert full_image.next_producer_id == 2000
    assert full_image.client_quotas == {
        (QuotaPart("client-id", None), QuotaPart("user", "ann")): {"producer_byte_rate": 1024.0}
    }
    assert full_image.acls == {make_id("acl"): AclImage(2, "orders", 3, "User:ann", "*", 3, 3)}
    assert full_image.scram == {ScramKey(1, "ann"): ScramImage(b"salt", b"stored", b"server", 4096)}
    token = DelegationTokenImage("User:ann", "User:bob", ("User:c",), 0, 0, 0)
    assert full_image.delegation_tokens == {"token": token}
    assert full_image.zk_migration_state == 4
    topic = full_image.topics_by_name["orders"]
    assert topic is full_image.topics_by_id[make_id("orders")]
    second = topic.partitions[1]
    assert (second.elr, second.last_known_elr) == ((2,), (1,))
    assert (second.adding, second.removing, second.leader_recovery_state) == ((2,), (1,), 1)


def test_secrets_are_not_printed(full_image):
    assert "stored" not in repr(full_image)


# Topics and partitions


def test_a_removed_topic_takes_its_configs_with_it(full_image, make_id):
    image, delta = then(full_image, RemoveTopicRecord(topic_id=make_id("orders")))

    assert image.topics_by_name == image.topics_by_id == {}
    assert image.config(2, "orders") == {}
    assert [topic.name for topic in delta.deleted_topics] == ["orders"]
    assert ConfigKey(2, "orders") in delta.changed_configs
    assert delta.changed_topics == []


def test_a_name_can_be_taken_again_in_the_same_step(full_image, make_id, make_partition):
    image, delta = then(
        full_image,
        RemoveTopicRecord(topic_id=make_id("orders")),
        TopicRecord(name="orders", topic_id=make_id("second")),
        make_partition("second", 0),
    )

    assert image.topics_by_name["orders"].topic_id == make_id("second")
    assert list(image.topics_by_id) == [make_id("second")]
    assert [topic.topic_id for topic in delta.deleted_topics] == [make_id("orders")]
    assert [topic.topic_id for topic in delta.created_topics] == [make_id("second")]


def test_partitions_may_come_in_any_order(make_image, make_id, make_partition):
    image = make_image(
        TopicRecord(name="t", topic_id=make_id("t")),
        make_partition("t", 1),
        make_partition("t", 0),
    )

    assert len(image.topics_by_name["t"].partitions) == 2


def test_equal_replicas_are_one_object(full_image):
    first, second = full_image.topics_by_name["orders"].partitions

    assert first.replicas is second.replicas
    assert first.directories is second.directories


def test_a_change_without_a_leader_keeps_the_leader_epoch(full_image, make_id):
    before = full_image.partition("orders", 0)

    image, delta = then(
        full_image, PartitionChangeRecord(topic_id=make_id("orders"), partition_id=0, isr=[1])
    )

    expected = replace(before, isr=(1,), partition_epoch=8)
    assert image.partition("orders", 0) == expected
    assert list(delta.changed_partitions()) == [
        (TopicPartition("orders", 0), image.topics_by_name["orders"], expected)
    ]


def test_naming_a_leader_even_the_same_begins_a_new_leader_epoch(full_image, make_id):
    image, _ = then(
        full_image, PartitionChangeRecord(topic_id=make_id("orders"), partition_id=0, leader=1)
    )

    after = image.partition("orders", 0)
    assert (after.leader, after.leader_epoch, after.partition_epoch) == (1, 4, 8)


def test_replicas_that_stay_keep_their_directories(full_image, make_id):
    change = PartitionChangeRecord(topic_id=make_id("orders"), partition_id=0, replicas=[3, 2])

    image, _ = then(full_image, change)

    after = image.partition("orders", 0)
    assert after.directories == (ZERO_UUID, make_id("dir-2"))


def test_partitions_from_before_directories_have_unknown_ones(make_image, make_id):
    image = make_image(
        TopicRecord(name="t", topic_id=make_id("t")),
        PartitionRecord(partition_id=0, topic_id=make_id("t"), replicas=[1, 2], isr=[1, 2]),
    )

    assert [bytes(each)[-1] for each in image.partition("t", 0).directories] == [2, 2]


@pytest.mark.parametrize(("name", "left"), [("orders", ()), ("", ()), ("other", (2,))])
def test_eligible_leaders_are_forgotten_for_one_topic_or_all(full_image, name, left):
    image, delta = then(full_image, ClearElrRecord(topic_name=name))

    assert image.partition("orders", 1).elr == left
    assert bool(delta) == (left == ())


# Brokers


@pytest.mark.parametrize(
    ("change", "fenced", "shutting_down"),
    [
        ({"fenced": 1}, True, True),
        ({"fenced": -1}, False, True),
        ({"in_controlled_shutdown": -1}, False, False),
        ({}, False, True),
    ],
)
def test_a_broker_s_state_changes_where_the_record_says_so(
    full_image, change, fenced, shutting_down
):
    image, delta = then(
        full_image, BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=4, **change)
    )

    broker = image.brokers[1]
    assert (broker.is_fenced, broker.in_controlled_shutdown) == (fenced, shutting_down)
    assert broker.directories == full_image.brokers[1].directories
    assert delta.changed_brokers == {1}


def test_old_records_fence_and_unfence_too(full_image):
    fenced, _ = then(full_image, FenceBrokerRecord(id=1, epoch=4))
    unfenced, _ = then(fenced, UnfenceBrokerRecord(id=1, epoch=4))

    assert (fenced.brokers[1].is_fenced, unfenced.brokers[1].is_fenced) == (True, False)


def test_an_unregistered_broker_is_gone(full_image):
    image, _ = then(full_image, UnregisterBrokerRecord(broker_id=1, broker_epoch=4))

    assert image.brokers == {}


# Configs, features, quotas, security


def test_a_config_without_a_value_is_gone(full_image):
    image, delta = then(
        full_image,
        ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value=None),
    )

    assert ConfigKey(2, "orders") not in image.configs
    assert delta.changed_configs == {ConfigKey(2, "orders")}


def test_a_feature_of_level_0_is_gone(full_image):
    image, delta = then(full_image, FeatureLevelRecord(name="group.version", feature_level=0))

    assert "group.version" not in image.features
    assert delta.others == {"features"}


def test_a_removed_quota_is_gone_whatever_the_order_of_its_parts(full_image):
    image, _ = then(
        full_image,
        ClientQuotaRecord(
            entity=[
                EntityData(entity_type="client-id", entity_name=None),
                EntityData(entity_type="user", entity_name="ann"),
            ],
            key="producer_byte_rate",
            remove=True,
        ),
    )

    assert image.client_quotas == {}


def test_security_records_have_their_removals(full_image, make_id):
    image, delta = then(
        full_image,
        RemoveAccessControlEntryRecord(id=make_id("acl")),
        RemoveUserScramCredentialRecord(name="ann", mechanism=1),
        RemoveDelegationTokenRecord(token_id="token"),
    )

    assert (image.acls, image.scram, image.delegation_tokens) == ({}, {}, {})
    assert delta.others == {"acls", "scram", "delegation_tokens"}


# Sharing and refusing


def test_what_does_not_change_is_shared_and_the_old_image_stays(full_image, make_id):
    image, delta = then(full_image, NoOpRecord())

    assert not delta
    assert image.offset == full_image.offset + 1
    assert image.topics_by_id is full_image.topics_by_id

    then(full_image, RemoveTopicRecord(topic_id=make_id("orders")))
    assert "orders" in full_image.topics_by_name


@pytest.mark.parametrize(
    "record",
    [
        TopicRecord(name="orders", topic_id=b"another-topic-id"),
        RemoveTopicRecord(topic_id=b"no-such-topic-id"),
        PartitionRecord(partition_id=0, topic_id=b"no-such-topic-id"),
        PartitionRecord(partition_id=5, topic_id=b"orders----------"),
        PartitionChangeRecord(partition_id=5, topic_id=b"orders----------"),
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=3),
        UnregisterBrokerRecord(broker_id=2, broker_epoch=4),
        "not a record",
    ],
    ids=lambda record: type(record).__name__,
)
def test_records_that_cannot_follow_stop_the_replay(full_image, record):
    with pytest.raises(ReplayError):
        then(full_image, record)


def test_a_topic_id_cannot_be_given_twice(make_id):
    topic = TopicRecord(name="t", topic_id=make_id("t"))

    with pytest.raises(ReplayError):
        then(ClusterImage(), topic, TopicRecord(name="u", topic_id=make_id("t")))
