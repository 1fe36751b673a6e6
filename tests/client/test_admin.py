"""Admin against running brokers."""

import pytest

from client.conftest import MakeTopic, admin_of
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client import (
    CommittedOffset,
    Consumer,
    ConsumerSettings,
    Producer,
    ProducerSettings,
)
from klamm.client.admin.configs import Change, ResourceKind
from klamm.client.list_offsets import EARLIEST, LATEST, MAX_TIMESTAMP, FoundOffset


async def test_topic_is_created_described_grown_and_deleted(address: str, name: str) -> None:
    async with admin_of(address) as admin:
        topic_id = await admin.topics.create(
            name, partitions=2, replication_factor=1, configs={"retention.ms": "1234"}
        )
        await admin.records.list_offsets({TopicPartition(name, 1): LATEST})
        made = await admin.topics.describe(name)
        await admin.topics.add_partitions(name, 5)
        while (grown := await admin.topics.describe(name)).count != 5:
            pass
        listed = {topic.name for topic in await admin.topics.list()}
        await admin.topics.delete(name)
        with pytest.raises(ApiError) as caught:
            await admin.topics.delete(name)

    assert (made.topic_id, made.count, grown.topic_id) == (topic_id, 2, topic_id)
    assert name in listed
    assert caught.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_topic_that_exists_is_not_created_again(address: str, make_topic: MakeTopic) -> None:
    topic = await make_topic()

    async with admin_of(address) as admin:
        with pytest.raises(ApiError) as caught:
            await admin.topics.create(topic, partitions=1, replication_factor=1)

    assert caught.value.code == ErrorCode.TOPIC_ALREADY_EXISTS


async def test_settings_are_changed_one_by_one(address: str, make_topic: MakeTopic) -> None:
    topic = await make_topic(retention_ms=1000, cleanup_policy="delete")
    keys = ["retention.ms", "cleanup.policy", "segment.ms"]

    async with admin_of(address) as admin:
        await admin.configs.set(
            ResourceKind.TOPIC, topic, {"retention.ms": None, "segment.ms": "777777"}
        )
        await admin.configs.alter(
            ResourceKind.TOPIC, topic, [("cleanup.policy", Change.APPEND, "compact")]
        )
        found = await admin.configs.describe(ResourceKind.TOPIC, topic, keys)
        with pytest.raises(ApiError) as caught:
            await admin.configs.set(ResourceKind.TOPIC, topic, {"segment.ms": "x"})
        node = (await admin.describe_cluster()).nodes[0].node_id
        broker = await admin.configs.describe(ResourceKind.BROKER, str(node), ["log.retention.ms"])

    assert {key: row.value for key, row in found.items()} == {
        "retention.ms": "604800000",
        "cleanup.policy": "delete,compact",
        "segment.ms": "777777",
    }
    assert [found[key].is_default for key in keys] == [True, False, False]
    assert caught.value.code == ErrorCode.INVALID_CONFIG
    assert set(broker) == {"log.retention.ms"}


async def test_offsets_of_times_and_the_deletion_of_records(
    address: str, make_topic: MakeTopic
) -> None:
    topic = await make_topic()
    partition = TopicPartition(topic, 0)
    async with Producer(address) as producer:
        for number in range(10):
            await producer.send(topic, b"", timestamp=1000 + number)

    async with admin_of(address) as admin:
        low = await admin.records.delete({partition: 4})
        found = {
            time: (await admin.records.list_offsets({partition: time}))[partition]
            for time in (EARLIEST, LATEST, MAX_TIMESTAMP, 1007, 9999)
        }

    assert low == {partition: 4}
    offsets = {time: at.offset if at else None for time, at in found.items()}
    assert offsets == {EARLIEST: 4, LATEST: 10, MAX_TIMESTAMP: 9, 1007: 7, 9999: None}
    assert found[1007] == FoundOffset(7, 1007, 0)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_group_is_listed_described_and_its_offsets_are_changed(
    address: str, make_topic: MakeTopic, name: str, protocol: str
) -> None:
    topic = await make_topic(partitions=2)
    partitions = [TopicPartition(topic, index) for index in (0, 1)]
    kind = "consumer" if protocol == "consumer" else "classic"
    settings = ConsumerSettings(group_id=name, group_protocol=kind, auto_commit=False)

    async with admin_of(address) as admin:
        async with Consumer(address, settings) as consumer:
            await consumer.subscribe([topic])
            while len(consumer.assignment()) < 2:
                await consumer.poll(timeout_ms=100)
            await consumer.commit(dict.fromkeys(partitions, CommittedOffset(0)))
            listed = [row for row in await admin.groups.list() if row.group_id == name]
            described = await admin.groups.describe(name)
            with pytest.raises(ApiError) as not_empty:
                await admin.groups.delete(name)
        await admin.groups.alter_offsets(name, {partitions[0]: CommittedOffset(7, metadata="m")})
        await admin.groups.delete_offsets(name, [partitions[1]])
        offsets = await admin.groups.offsets(name)
        await admin.groups.delete(name)
        gone = [row for row in await admin.groups.list() if row.group_id == name]

    (listing,) = listed
    (member,) = described.members
    assert (listing.protocol_type, listing.kind.lower()) == ("consumer", kind)
    assert (described.kind, member.assignment) == (kind, frozenset(partitions))
    assert not_empty.value.code == ErrorCode.NON_EMPTY_GROUP
    assert {p: (c.offset, c.metadata) for p, c in offsets.items()} == {partitions[0]: (7, "m")}
    assert gone == []


async def test_open_transaction_is_found_and_its_producer_fenced(
    address: str, make_topic: MakeTopic, name: str
) -> None:
    topic = await make_topic()
    partition = TopicPartition(topic, 0)

    async with (
        Producer(address, ProducerSettings(transactional_id=name)) as producer,
        admin_of(address) as admin,
    ):
        producer.begin()
        await producer.send_and_wait(topic, b"")
        listed = [row for row in await admin.transactions.list() if row.transactional_id == name]
        described = await admin.transactions.describe(name)
        (active,) = await admin.transactions.producers(partition)
        await admin.transactions.fence(name)
        after = await admin.transactions.describe(name)

    assert [row.state for row in listed] == ["Ongoing"]
    assert (described.state, described.partitions) == ("Ongoing", {partition})
    assert (active.producer_id, active.transaction_start) == (described.producer_id, 0)
    assert after.partitions == frozenset()


async def test_hanging_transaction_is_aborted_by_its_start(
    address: str, make_topic: MakeTopic, name: str
) -> None:
    topic = await make_topic()
    partition = TopicPartition(topic, 0)

    async with (
        Producer(address, ProducerSettings(transactional_id=name)) as producer,
        admin_of(address) as admin,
    ):
        producer.begin()
        await producer.send_and_wait(topic, b"")
        await admin.transactions.abort(partition, 0)
        (active,) = await admin.transactions.producers(partition)
        with pytest.raises(ApiError) as caught:
            await admin.transactions.abort(partition, 0)

    assert active.transaction_start is None
    assert caught.value.code == ErrorCode.INVALID_TXN_STATE


async def test_cluster_and_features_are_described(address: str) -> None:
    async with admin_of(address) as admin:
        cluster = await admin.describe_cluster()
        features = await admin.features()

    assert [node.node_id for node in cluster.nodes] == [1]
    assert features["transaction.version"] == 2


async def test_leaders_that_lead_as_they_should_are_not_elected_again(
    address: str, make_topic: MakeTopic
) -> None:
    topic = await make_topic()

    async with admin_of(address) as admin:
        asked = await admin.partitions.elect_leaders([TopicPartition(topic, 0)])
        everything = await admin.partitions.elect_leaders()

    error = asked[TopicPartition(topic, 0)]
    assert error is not None
    assert error.code == ErrorCode.ELECTION_NOT_NEEDED
    assert everything == {}


async def test_quorum_of_one_is_led_by_its_voter(address: str) -> None:
    async with admin_of(address) as admin:
        quorum = await admin.quorum()

    assert [each.node_id for each in quorum.voters] == [quorum.leader_id]
    assert quorum.voters[0].end_offset >= quorum.high_watermark > 0
