"""CreateTopics, as a real 4.3.1 answered the same requests."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.ids import ZERO_UUID
from klamm.metadata.records.configs import ConfigRecord
from klamm.metadata.records.topics import PartitionRecord, TopicRecord
from klamm.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)

LEGAL = "ASCII alphanumerics, '.', '_' and '-'"
TOO_FEW = "or some brokers have all their log directories cordoned."


def a_topic(name, partitions=1, factor=1, assignments=(), configs=()) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in assignments
        ],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs],
    )


def create(machine, *topics, validate_only=False) -> list[CreatableTopicResult]:
    request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    return machine.do(lambda controller: controller.create_topics(request, 0)).topics


def answers(results) -> list[tuple[str, int, str | None]]:
    return [(each.name, each.error_code, each.error_message) for each in results]


def test_a_new_topic_is_answered_with_its_id_size_and_all_its_configs(machine):
    (result,) = create(machine, a_topic("orders", 3, -1, configs=[("retention.ms", "5")]))

    topic = machine.image.topics_by_name["orders"]
    assert (result.error_code, result.error_message) == (0, None)
    assert (result.topic_id, result.num_partitions, result.replication_factor) == (
        topic.topic_id,
        3,
        1,
    )
    assert result.topic_id != ZERO_UUID
    assert len(result.configs) == 33
    assert [each.name for each in result.configs] == sorted(each.name for each in result.configs)
    shown = {each.name: (each.value, each.config_source) for each in result.configs}
    assert shown["retention.ms"] == ("5", 1)
    assert shown["min.insync.replicas"] == ("1", 3)
    assert shown["segment.bytes"] == ("1073741824", 5)


def test_records_come_as_topic_configs_partitions(machine):
    create(machine, a_topic("orders", 2, configs=[("retention.ms", "5")]))

    kinds = [type(record) for record in machine.records]
    assert kinds == [TopicRecord, ConfigRecord, PartitionRecord, PartitionRecord]
    partition = machine.records[2]
    assert (partition.replicas, partition.isr, partition.leader) == ([1], [1], 1)
    assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)
    assert partition.directories == list(machine.image.brokers[1].directories)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("a b", f"'a b' contains one or more characters other than {LEGAL}"),
        ("ü", f"'ü' contains one or more characters other than {LEGAL}"),
        ("new\n", f"'new\n' contains one or more characters other than {LEGAL}"),
        ("x" * 250, f"the length of '{'x' * 250}' is longer than the max allowed length 249"),
    ],
)
def test_bad_names_are_refused(machine, name, problem):
    (result,) = create(machine, a_topic(name))

    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert result.error_message == f"Topic name is invalid: {problem}"
    assert machine.records == []


def test_names_that_would_share_metrics_collide(machine):
    create(machine, a_topic("a.b"), a_topic("one"))

    results = create(machine, a_topic("a_b"), a_topic("a.b"), a_topic("one"))

    assert answers(results) == [
        ("a_b", 17, "Topic 'a_b' collides with existing topic: a.b"),
        ("a.b", 36, "Topic 'a.b' already exists."),
        ("one", 36, "Topic 'one' already exists."),
    ]


def test_a_name_given_twice_is_refused_once_and_the_others_are_made(machine):
    internal = "__cluster_metadata"

    results = create(machine, a_topic("d"), a_topic("e"), a_topic("d"), a_topic(internal))

    assert answers(results) == [
        ("e", 0, None),
        ("d", 42, "Duplicate topic name."),
        (internal, 42, f"Creation of internal topic {internal} is prohibited."),
    ]
    assert list(machine.image.topics_by_name) == ["e"]


@pytest.mark.parametrize(
    ("partitions", "factor", "code", "message"),
    [
        (0, 1, 37, "Number of partitions was set to an invalid non-positive value."),
        (-2, 1, 37, "Number of partitions was set to an invalid non-positive value."),
        (1, 0, 38, "Replication factor must be larger than 0, or -1 to use the default value."),
        (0, -2, 38, "Replication factor must be larger than 0, or -1 to use the default value."),
        (
            1,
            2,
            38,
            "Unable to replicate the partition 2 time(s): The target replication factor of 2 "
            f"cannot be reached because only 1 broker(s) are registered {TOO_FEW}",
        ),
    ],
)
def test_bad_counts_are_refused(machine, partitions, factor, code, message):
    (result,) = create(machine, a_topic("t", partitions, factor))

    assert (result.error_code, result.error_message) == (code, message)
    assert (result.num_partitions, result.replication_factor, result.configs) == (-1, -1, [])


MANUAL = "A manual partition assignment was specified, but"
INCLUDES = "The manual partition assignment includes"
GAP = "partitions should be a consecutive 0-based integer sequence"


@pytest.mark.parametrize(
    ("partitions", "factor", "assignments", "code", "message"),
    [
        (1, -1, [(0, [1])], 42, f"{MANUAL} numPartitions was not set to -1."),
        (-1, 1, [(0, [1])], 42, f"{MANUAL} replication factor was not set to -1."),
        (1, 1, [(0, [1])], 42, f"{MANUAL} replication factor was not set to -1."),
        (-1, -1, [(0, [2])], 39, f"{INCLUDES} broker 2, but no such broker is registered."),
        (-1, -1, [(0, [1, 1])], 39, f"{INCLUDES} the broker 1 more than once."),
        (-1, -1, [(0, [])], 39, f"{INCLUDES} an empty replica list."),
        (-1, -1, [(1, [1])], 39, GAP),
        (-1, -1, [(0, [1]), (2, [1])], 39, GAP),
        (
            -1,
            -1,
            [(0, [1]), (0, [1])],
            39,
            "Found multiple manual partition assignments for partition 0",
        ),
    ],
)
def test_bad_assignments_are_refused(machine, partitions, factor, assignments, code, message):
    (result,) = create(machine, a_topic("t", partitions, factor, assignments))

    assert (result.error_code, result.error_message) == (code, message)


def test_a_manual_assignment_may_list_its_partitions_in_any_order(machine):
    (result,) = create(machine, a_topic("t", -1, -1, [(1, [1]), (0, [1])]))

    assert (result.error_code, result.num_partitions) == (0, 2)
    assert len(machine.image.topics_by_name["t"].partitions) == 2


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ([("nope", "1")], "Unknown topic config name: nope"),
        (
            [("retention.ms", "x")],
            "Invalid value x for configuration retention.ms: Not a number of type LONG",
        ),
        ([("a", None), ("b", None)], "Null value not supported for topic configs: a,b"),
        (
            [("segment.bytes", "1")],
            "Invalid value 1 for configuration segment.bytes: Value must be at least 1048576",
        ),
    ],
)
def test_bad_configs_are_refused_before_bad_counts(machine, configs, message):
    (result,) = create(machine, a_topic("t", 0, configs=configs))

    assert (result.error_code, result.error_message) == (ErrorCode.INVALID_CONFIG, message)


def test_a_name_is_judged_before_its_configs(machine):
    (result,) = create(machine, a_topic("bad name", configs=[("nope", None)]))

    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_validating_only_answers_the_same_and_changes_nothing(machine):
    (result,) = create(machine, a_topic("t"), validate_only=True)

    assert (result.error_code, result.num_partitions) == (0, 1)
    assert machine.image.topics_by_name == {}


def test_defaults_come_from_the_settings(make_machine):
    machine = make_machine(num_partitions="4")

    (result,) = create(machine, a_topic("t", -1, -1))

    assert result.num_partitions == 4


def test_too_many_partitions_at_once_are_refused_for_every_topic(machine):
    results = create(machine, a_topic("a", 10_001), a_topic("b"))

    message = "Excessively large number of partitions per request."
    assert answers(results) == [("a", 44, message), ("b", 44, message)]


def test_too_many_records_at_once_are_refused_for_every_topic(machine):
    results = create(machine, a_topic("a", 9_999), a_topic("b"))

    message = "Unable to perform excessively large batch operation."
    assert answers(results) == [("a", 44, message), ("b", 44, message)]
    assert machine.image.topics_by_name == {}
