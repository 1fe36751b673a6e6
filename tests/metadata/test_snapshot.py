"""A snapshot is the replay of the log up to its offset (R4), byte-framed as Kafka's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from klamm.base.errors import CorruptFrame
from klamm.base.ids import OffsetAndEpoch, Uuid
from klamm.metadata import snapshot
from klamm.metadata.image import ClusterImage
from klamm.metadata.records.configs import ConfigRecord, FeatureLevelRecord
from klamm.metadata.records.topics import PartitionRecord, RemoveTopicRecord, TopicRecord
from klamm.metadata.replay import apply
from klamm.protocol.records.batch import batches, check_crc


def test_reading_gives_back_the_image(full_image):
    at = OffsetAndEpoch(full_image.offset + 1, full_image.epoch)

    data = snapshot.write(full_image, now=99)

    assert snapshot.read(data, at, cluster_id="c") == full_image


def test_the_framing_is_header_records_footer(full_image):
    found = list(batches(snapshot.write(full_image, now=99)))

    assert [header.is_control for header, _ in found] == [True, False, True]
    assert all(check_crc(batch) for _, batch in found)
    assert [header.base_offset for header, _ in found][:2] == [0, 1]
    assert found[2][0].base_offset == found[1][0].last_offset + 1


def test_long_snapshots_come_in_several_batches(make_image, make_id, make_partition):
    partitions = [make_partition("t", index) for index in range(3000)]
    version = FeatureLevelRecord(name="metadata.version", feature_level=30)
    image = make_image(version, TopicRecord(name="t", topic_id=make_id("t")), *partitions)

    data = snapshot.write(image, now=0)

    assert len(list(batches(data))) > 3
    at = OffsetAndEpoch(image.offset + 1, image.epoch)
    assert snapshot.read(data, at, cluster_id="c") == image


def test_the_time_of_the_last_record_is_kept(make_image):
    image, _ = apply(ClusterImage(), [], offset=4, epoch=2, timestamp=1234)

    assert snapshot.last_timestamp_of(snapshot.write(image, now=99)) == 1234


@pytest.mark.parametrize("size", [0, 1, 83, 200, -1, -75])
def test_a_snapshot_that_is_not_whole_is_refused(full_image, size):
    data = snapshot.write(full_image, now=99)[:size]

    with pytest.raises(CorruptFrame):
        list(snapshot.read_batches(data))


def test_a_snapshot_with_one_wrong_bit_is_refused(full_image):
    data = bytearray(snapshot.write(full_image, now=99))
    data[200] ^= 1

    with pytest.raises(CorruptFrame):
        list(snapshot.read_batches(data))


def test_names_have_offset_and_epoch():
    at = OffsetAndEpoch(1234, 5)

    assert snapshot.file_name(at) == "00000000000000001234-0000000005.checkpoint"
    assert snapshot.parse_name(snapshot.file_name(at)) == at
    assert snapshot.parse_name("00000000000000001234.log") is None
    assert snapshot.parse_name(snapshot.file_name(at) + ".part") is None


TOPICS = ("a.b", "a_b2", "c", "d")


def _id(name):
    return Uuid(name.encode().ljust(16, b"."))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("toggle"), st.sampled_from(TOPICS)),
        st.tuples(st.just("grow"), st.sampled_from(TOPICS)),
        st.tuples(st.just("config"), st.sampled_from(TOPICS)),
        st.tuples(st.just("feature"), st.integers(0, 2)),
    ),
    max_size=30,
)


def _records(image, step):
    """What a controller would write: only records that fit the image."""
    kind, what = step
    if kind == "feature":
        return [FeatureLevelRecord(name="f", feature_level=what)]
    topic = image.topics_by_name.get(what)
    if kind == "toggle":
        if topic:
            return [RemoveTopicRecord(topic_id=topic.topic_id)]
        return [TopicRecord(name=what, topic_id=_id(what))]
    if topic is None:
        return []
    if kind == "config":
        return [ConfigRecord(resource_type=2, resource_name=what, name="x", value="1")]
    count = len(topic.partitions)
    return [PartitionRecord(partition_id=count, topic_id=topic.topic_id, replicas=[1], isr=[1])]


@given(STEPS, st.integers(0, 30))
def test_a_snapshot_anywhere_and_the_log_behind_it_give_the_same_image(steps, cut):
    whole, restarted = ClusterImage(cluster_id="c"), None
    for number, step in enumerate(steps):
        if number == cut:
            at = OffsetAndEpoch(whole.offset + 1, whole.epoch)
            restarted = snapshot.read(snapshot.write(whole, now=0), at, cluster_id="c")
        records = _records(whole, step)
        offset = whole.offset + len(records)
        whole, _ = apply(whole, records, offset=offset, epoch=1)
        if restarted is not None:
            restarted, _ = apply(restarted, records, offset=offset, epoch=1)

    if restarted is not None:
        assert restarted == whole
    collisions = {name for names in whole.topics_by_collision.values() for name in names}
    assert collisions == {name for name in whole.topics_by_name if "." in name or "_" in name}
