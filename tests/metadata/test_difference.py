"""The difference between two images is what replaying the records between them would have told."""

from dataclasses import replace

from klamm.base.ids import OffsetAndEpoch, Uuid
from klamm.metadata import snapshot
from klamm.metadata.difference import between
from klamm.metadata.image import BrokerImage, ClusterImage
from klamm.metadata.records.configs import ConfigRecord, FeatureLevelRecord
from klamm.metadata.records.nodes import BrokerRegistrationChangeRecord
from klamm.metadata.records.topics import (
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from klamm.metadata.replay import apply

OLD, NEW, KEPT, SAME = (Uuid(name.ljust(16)) for name in (b"old", b"new", b"kept", b"same"))


def a_partition(topic, index, leader=1):
    return PartitionRecord(
        topic_id=topic,
        partition_id=index,
        replicas=[1, 2],
        isr=[1, 2],
        leader=leader,
        leader_epoch=0,
        partition_epoch=0,
        directories=[Uuid(b"directory-of-one"), Uuid(b"directory-of-two")],
    )


def before():
    brokers = {each: BrokerImage(each, 3, Uuid(b"incarnation-of-1")) for each in (1, 2)}
    records = [
        FeatureLevelRecord(name="metadata.version", feature_level=30),
        TopicRecord(name="t", topic_id=OLD),
        a_partition(OLD, 0),
        TopicRecord(name="kept", topic_id=KEPT),
        a_partition(KEPT, 0),
        a_partition(KEPT, 1),
        TopicRecord(name="same", topic_id=SAME),
        a_partition(SAME, 0),
        ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="1"),
        ConfigRecord(resource_type=2, resource_name="same", name="retention.ms", value="1"),
    ]
    return apply(ClusterImage(cluster_id="c", brokers=brokers), records, offset=9, epoch=1)[0]


CHANGES = [
    RemoveTopicRecord(topic_id=OLD),
    TopicRecord(name="t", topic_id=NEW),
    a_partition(NEW, 0),
    PartitionChangeRecord(topic_id=KEPT, partition_id=1, leader=2),
    a_partition(KEPT, 2),
    BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=3, fenced=-1),
    ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="2"),
    FeatureLevelRecord(name="group.version", feature_level=1),
]


def test_a_snapshot_tells_what_the_log_would_have_told():
    old = before()
    image, told = apply(old, CHANGES, offset=17, epoch=1)
    data = snapshot.write(image, now=5)
    loaded = snapshot.read(data, OffsetAndEpoch(18, 1), cluster_id="c")

    delta = between(old, loaded)

    assert delta == told
    assert next(iter(delta.topics)) == OLD
    assert [each.name for each in delta.deleted_topics] == ["t"]
    assert {index for _, index, _ in _partitions(delta)} == {0, 1, 2}


def _partitions(delta):
    return [
        (topic, index, partition) for (topic, index), _, partition in delta.changed_partitions()
    ]


def test_nothing_differs_between_equal_images():
    image = before()

    assert not between(image, replace(image, offset=99))
