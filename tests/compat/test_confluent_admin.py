"""confluent-kafka (librdkafka) administers topics, configurations and offsets."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import (
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
    Uuid,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    TopicDescription,
)

from support.patience import eventually

pytestmark = pytest.mark.compat


def only(results: dict[Any, Future[Any]]) -> Any:
    """The result of a request about one thing."""
    (result,) = results.values()
    return result.result(30)


def error_of(results: dict[Any, Future[Any]]) -> int:
    with pytest.raises(KafkaException) as refused:
        only(results)
    code: int = refused.value.args[0].code()
    return code


def topic_configs(admin: AdminClient, topic: str) -> dict[str, ConfigEntry]:
    return dict(only(admin.describe_configs([ConfigResource("topic", topic)])))


def expect(found: object, wanted: object) -> None:
    assert found == wanted


def describe(admin: AdminClient, topic: str) -> TopicDescription:
    # The controller has answered; the broker that we ask may learn of it a moment later.
    described: TopicDescription = eventually(
        lambda: only(admin.describe_topics(TopicCollection([topic]))), failures=KafkaException
    )
    return described


def test_new_topic_is_described_as_it_was_asked_for(admin: AdminClient, topic_name: str) -> None:
    wanted = NewTopic(
        topic_name, 3, 1, config={"retention.ms": "1000", "cleanup.policy": "compact"}
    )

    only(admin.create_topics([wanted]))

    described = describe(admin, topic_name)
    assert (described.name, described.is_internal) == (topic_name, False)
    assert described.topic_id != Uuid(0, 0)
    assert [p.id for p in described.partitions] == [0, 1, 2]
    assert all(p.leader.id == p.replicas[0].id == p.isr[0].id for p in described.partitions)
    configs = topic_configs(admin, topic_name)
    assert (configs["retention.ms"].value, configs["cleanup.policy"].value) == ("1000", "compact")
    assert ConfigSource(configs["retention.ms"].source) is ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert configs["segment.bytes"].is_default


def test_topic_made_without_numbers_has_the_brokers_defaults(
    admin: AdminClient, topic_name: str
) -> None:
    only(admin.create_topics([NewTopic(topic_name)]))

    described = describe(admin, topic_name)
    assert [len(p.replicas) for p in described.partitions] == [1]


def test_validation_makes_no_topic(admin: AdminClient, topic_name: str) -> None:
    only(admin.create_topics([NewTopic(topic_name, 1, 1)], validate_only=True))

    assert topic_name not in admin.list_topics(timeout=20).topics


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"num_partitions": 0}, KafkaError.INVALID_PARTITIONS),
        ({"replication_factor": 5}, KafkaError.INVALID_REPLICATION_FACTOR),
        ({"config": {"no.such.config": "1"}}, KafkaError.INVALID_CONFIG),
        ({"config": {"retention.ms": "soon"}}, KafkaError.INVALID_CONFIG),
        ({"config": {"cleanup.policy": "burn"}}, KafkaError.INVALID_CONFIG),
        ({"topic": "white space"}, KafkaError.TOPIC_EXCEPTION),
        ({"topic": "x" * 250}, KafkaError.TOPIC_EXCEPTION),
        ({"topic": ".."}, KafkaError.TOPIC_EXCEPTION),
    ],
    ids=str,
)
def test_bad_topic_is_refused(
    admin: AdminClient, topic_name: str, change: dict[str, Any], code: int
) -> None:
    wanted = {"topic": topic_name, "num_partitions": 1, "replication_factor": 1, **change}

    assert error_of(admin.create_topics([NewTopic(**wanted)])) == code


def test_second_topic_of_one_name_is_refused(admin: AdminClient, topic: str) -> None:
    assert error_of(admin.create_topics([NewTopic(topic, 1, 1)])) == KafkaError.TOPIC_ALREADY_EXISTS


def test_topics_that_clash_in_metric_names_are_refused(admin: AdminClient, topic_name: str) -> None:
    only(admin.create_topics([NewTopic(f"{topic_name}.a", 1, 1)]))

    clash = admin.create_topics([NewTopic(f"{topic_name}_a", 1, 1)])

    assert error_of(clash) == KafkaError.TOPIC_EXCEPTION


def test_replicas_may_be_placed_by_hand(admin: AdminClient, topic_name: str) -> None:
    (broker_id,) = admin.list_topics(timeout=20).brokers
    placed = NewTopic(topic_name, 2, replica_assignment=[[broker_id], [broker_id]])

    only(admin.create_topics([placed]))

    assert len(describe(admin, topic_name).partitions) == 2


def test_deleted_topic_is_gone_and_its_name_is_free(
    admin: AdminClient, topic_name: str, bootstrap: str
) -> None:
    only(admin.create_topics([NewTopic(topic_name, 1, 1)]))
    first = describe(admin, topic_name).topic_id

    only(admin.delete_topics([topic_name]))
    eventually(lambda: expect(topic_name in admin.list_topics(timeout=20).topics, False))
    only(admin.create_topics([NewTopic(topic_name, 1, 1)]))

    second = describe(admin, topic_name).topic_id
    assert str(first) != str(second)


def test_unknown_topics_are_named_so(admin: AdminClient, topic_name: str) -> None:
    unknown = KafkaError.UNKNOWN_TOPIC_OR_PART
    assert error_of(admin.delete_topics([topic_name])) == unknown
    assert error_of(admin.describe_topics(TopicCollection([topic_name]))) == unknown
    assert error_of(admin.create_partitions([NewPartitions(topic_name, 3)])) == unknown
    assert error_of(admin.describe_configs([ConfigResource("topic", topic_name)])) == unknown


def test_partitions_are_added_and_never_taken_away(admin: AdminClient, topic: str) -> None:
    only(admin.create_partitions([NewPartitions(topic, 4)]))

    eventually(lambda: expect(len(describe(admin, topic).partitions), 4))
    for count in (4, 2):
        fewer = admin.create_partitions([NewPartitions(topic, count)])
        assert error_of(fewer) == KafkaError.INVALID_PARTITIONS


def test_configs_are_set_added_to_subtracted_from_and_deleted(
    admin: AdminClient, topic: str
) -> None:
    def alter(name: str, value: str | None, operation: AlterConfigOpType) -> None:
        entry = ConfigEntry(name, value, incremental_operation=operation)
        resource = ConfigResource("topic", topic, incremental_configs=[entry])
        only(admin.incremental_alter_configs([resource]))

    def current() -> tuple[str | None, str | None]:
        configs = topic_configs(admin, topic)
        return configs["retention.ms"].value, configs["cleanup.policy"].value

    alter("retention.ms", "5000", AlterConfigOpType.SET)
    alter("cleanup.policy", "compact", AlterConfigOpType.APPEND)
    eventually(lambda: expect(current(), ("5000", "delete,compact")))
    alter("retention.ms", None, AlterConfigOpType.DELETE)
    alter("cleanup.policy", "delete", AlterConfigOpType.SUBTRACT)
    eventually(lambda: expect(current(), ("604800000", "compact")))


@pytest.mark.filterwarnings("ignore:alter_configs has been deprecated")
def test_old_alter_configs_replaces_everything(
    admin: AdminClient, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(retention_ms="1000", segment_bytes="2000000")
    resource = ConfigResource("topic", topic, set_config={"retention.ms": "7000"})

    only(admin.alter_configs([resource]))

    def current() -> tuple[str | None, str | None]:
        configs = topic_configs(admin, topic)
        return configs["retention.ms"].value, configs["segment.bytes"].value

    eventually(lambda: expect(current(), ("7000", "1073741824")))


def test_changed_config_takes_effect_at_once(
    admin: AdminClient, topic: str, bootstrap: str
) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    errors: list[int | None] = []

    def write() -> None:
        producer.produce(
            topic, b"x" * 2_000, on_delivery=lambda e, _: errors.append(e and e.code())
        )
        assert producer.flush(30) == 0

    write()
    entry = ConfigEntry("max.message.bytes", "1000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource("topic", topic, incremental_configs=[entry])
    only(admin.incremental_alter_configs([resource]))

    def is_refused() -> None:
        write()
        assert errors[-1] == KafkaError.MSG_SIZE_TOO_LARGE

    assert errors == [None]
    eventually(is_refused)


def test_broker_configs_are_described(admin: AdminClient) -> None:
    (broker_id,) = admin.list_topics(timeout=20).brokers

    configs = only(admin.describe_configs([ConfigResource("broker", str(broker_id))]))

    assert configs["node.id"].value == str(broker_id)
    assert configs["node.id"].is_read_only
    assert configs["num.partitions"].value == "1"
    assert configs["log.retention.hours"].value == "168"


def test_offsets_are_listed_from_each_end_and_by_time(
    admin: AdminClient, topic: str, bootstrap: str
) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for n, timestamp in enumerate((100, 300, 200)):
        producer.produce(topic, b"%d" % n, partition=0, timestamp=timestamp)
    producer.flush(30)

    def offset(spec: OffsetSpec) -> tuple[int, int]:
        found = only(admin.list_offsets({TopicPartition(topic, 0): spec}))
        return found.offset, found.timestamp

    assert offset(OffsetSpec.earliest()) == (0, -1)
    assert offset(OffsetSpec.latest()) == (3, -1)
    assert offset(OffsetSpec.max_timestamp()) == (1, 300)
    assert offset(OffsetSpec.for_timestamp(150)) == (1, 300)
    assert offset(OffsetSpec.for_timestamp(400)) == (-1, -1)


def test_deletion_beyond_the_end_is_refused(admin: AdminClient, topic: str) -> None:
    deletion = admin.delete_records([TopicPartition(topic, 0, 10)])

    assert error_of(deletion) == KafkaError.OFFSET_OUT_OF_RANGE


def test_cluster_is_described(admin: AdminClient, bootstrap: str) -> None:
    described = admin.describe_cluster(include_authorized_operations=True).result(20)

    host, port = bootstrap.rsplit(":", 1)
    assert [(node.host, node.port) for node in described.nodes] == [(host, int(port))]
    assert described.controller.id == described.nodes[0].id
    assert len(described.cluster_id) == 22


def test_topics_are_listed_with_the_cluster(admin: AdminClient, topic: str) -> None:
    listed = admin.list_topics(timeout=20)

    assert listed.topics[topic].error is None
    assert list(listed.topics[topic].partitions) == [0]
    assert listed.controller_id in listed.brokers
