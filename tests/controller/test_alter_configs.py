"""IncrementalAlterConfigs and AlterConfigs, as a real 4.3.1 answered the same requests."""

import pytest

from klamm.metadata.image import ConfigKey
from klamm.metadata.records.configs import ConfigRecord
from klamm.metadata.records.topics import ClearElrRecord
from klamm.protocol.messages import alter_configs, incremental_alter_configs
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

SET, DELETE, APPEND, SUBTRACT = range(4)
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
LEGAL = "ASCII alphanumerics, '.', '_' and '-'"


@pytest.fixture(autouse=True)
def a_topic(machine):
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    machine.do(lambda controller: controller.create_topics(CreateTopicsRequest(topics=[topic]), 0))
    machine.records = []


def incremental(machine, *resources, validate_only=False):
    """Each resource is (type, name, [(config, operation, value)])."""
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(
        resources=[
            incremental_alter_configs.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    incremental_alter_configs.AlterableConfig(
                        name=config, config_operation=operation, value=value
                    )
                    for config, operation, value in configs
                ],
            )
            for kind, name, configs in resources
        ],
        validate_only=validate_only,
    )
    reply = machine.do(lambda controller: controller.incremental_alter_configs(request, 0))
    return [(each.error_code, each.error_message) for each in reply.responses]


def legacy(machine, *resources, validate_only=False):
    """Each resource is (type, name, [(config, value)])."""
    request = alter_configs.AlterConfigsRequest(
        resources=[
            alter_configs.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    alter_configs.AlterableConfig(name=config, value=value)
                    for config, value in configs
                ],
            )
            for kind, name, configs in resources
        ],
        validate_only=validate_only,
    )
    reply = machine.do(lambda controller: controller.alter_configs(request, 0))
    return [(each.error_code, each.error_message) for each in reply.responses]


def written(machine):
    return [(each.name, each.value) for each in machine.records if isinstance(each, ConfigRecord)]


NOT_A_LONG = "Not a number of type LONG"
DYNAMICALLY = "Cannot update these configs dynamically"
AT_DEFAULT = "Cannot update these configs at default cluster level, broker id must be specified"
MIN_SESSION = "group.consumer.min.session.timeout.ms"

# (type, name, config, value) and the answer, which is the same in both requests.
REFUSED = [
    (TOPIC, "nope", "retention.ms", "5", 3, "The topic 'nope' does not exist."),
    (TOPIC, "nope", "nope", "5", 40, "Unknown topic config name: nope"),
    (
        TOPIC,
        "bad name",
        "retention.ms",
        "5",
        17,
        f"Topic name is invalid: 'bad name' contains one or more characters other than {LEGAL}",
    ),
    (TOPIC, "", "retention.ms", "5", 42, "Default topic resources are not allowed."),
    (TOPIC, "t", "retention.ms", None, 42, "Null value not supported for : retention.ms"),
    (
        TOPIC,
        "t",
        "retention.ms",
        "x",
        40,
        f"Invalid value x for configuration retention.ms: {NOT_A_LONG}",
    ),
    (BROKER, "x", "log.retention.ms", "5", 42, "Node id must be an integer, but it is: x"),
    (BROKER, "1", "num.partitions", "5", 42, f"{DYNAMICALLY}: [num.partitions]"),
    (BROKER, "", "num.partitions", "5", 42, f"{DYNAMICALLY}: [num.partitions]"),
    (BROKER, "1", "log.retention.ms", None, 42, "Null value not supported for : log.retention.ms"),
    (
        BROKER,
        "1",
        "log.retention.ms",
        "x",
        42,
        f"Invalid value x for configuration log.retention.ms: {NOT_A_LONG}",
    ),
    (
        BROKER,
        "1",
        "min.insync.replicas",
        "2",
        40,
        "Broker-level min.insync.replicas cannot be altered while ELR is enabled.",
    ),
    (
        BROKER,
        "",
        "min.insync.replicas",
        "0",
        42,
        "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1",
    ),
    (METRICS, "", "interval.ms", "1000", 42, "Subscription name can't be empty"),
    (
        METRICS,
        "m",
        "interval.ms",
        "1",
        42,
        "Invalid value 1 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
    ),
    (METRICS, "m", "nope", "1", 42, "Unknown client metrics configuration: nope"),
    (METRICS, "m", "match", "x=1", 40, "Illegal client matching pattern: x=1"),
    (
        GROUP,
        "",
        "consumer.session.timeout.ms",
        "50000",
        42,
        "Default group resources are not allowed.",
    ),
    (GROUP, "g", "nope", "1", 40, "Unknown group config name: nope"),
    (
        GROUP,
        "g",
        "consumer.session.timeout.ms",
        "1",
        40,
        f"consumer.session.timeout.ms must be greater than or equal to {MIN_SESSION}",
    ),
    (0, "x", "a", "1", 42, "Unknown resource type 0"),
    (3, "x", "a", "1", 42, "Unknown resource type 3"),
    (64, "x", "a", "1", 42, "Unknown resource type 64"),
]


@pytest.mark.parametrize(("kind", "name", "config", "value", "code", "message"), REFUSED)
def test_bad_changes_are_refused(machine, kind, name, config, value, code, message):
    assert incremental(machine, (kind, name, [(config, SET, value)])) == [(code, message)]
    assert legacy(machine, (kind, name, [(config, value)])) == [(code, message)]
    assert machine.records == []


@pytest.mark.parametrize(
    ("kind", "name", "config", "value"),
    [
        (TOPIC, "t", "retention.ms", "5"),
        (TOPIC, "t", "min.insync.replicas", "2"),
        (BROKER, "1", "log.retention.ms", "5"),
        (BROKER, "1", "a.plugin.s.own", "5"),
        (BROKER, "", "min.insync.replicas", "2"),
        (METRICS, "m", "interval.ms", "1000"),
        (GROUP, "g", "consumer.session.timeout.ms", "50000"),
    ],
)
def test_good_changes_are_made(machine, kind, name, config, value):
    assert incremental(machine, (kind, name, [(config, SET, value)])) == [(0, None)]
    assert machine.image.config(kind, name)[config] == value
    assert legacy(machine, (kind, name, [(config, value)])) == [(0, None)]


def test_validating_only_changes_nothing(machine):
    change = (TOPIC, "t", [("retention.ms", SET, "5")])

    assert incremental(machine, change, validate_only=True) == [(0, None)]
    assert legacy(machine, (TOPIC, "t", [("retention.ms", "5")]), validate_only=True) == [(0, None)]
    assert machine.image.config(TOPIC, "t") == {}


def test_each_resource_stands_for_itself_and_is_changed_as_a_whole(machine):
    answers = incremental(
        machine,
        (TOPIC, "t", [("retention.ms", SET, "5"), ("retention.bytes", SET, "x")]),
        (GROUP, "g", [("consumer.session.timeout.ms", SET, "50000")]),
    )

    assert [code for code, _ in answers] == [40, 0]
    assert machine.image.config(TOPIC, "t") == {}
    assert machine.image.config(GROUP, "g") == {"consumer.session.timeout.ms": "50000"}


def test_naming_a_resource_or_a_config_twice_is_refused(machine):
    once = (TOPIC, "t", [("retention.ms", SET, "5")])
    twice = (TOPIC, "t", [("retention.ms", SET, "5"), ("retention.ms", DELETE, None)])

    at_most_once = (42, "Each resource must appear at most once.")
    assert incremental(machine, once, once) == [at_most_once, at_most_once]
    assert incremental(machine, twice) == [(42, "Error due to duplicate config keys")]
    assert legacy(machine, (TOPIC, "t", [("a", "1"), ("a", "2")])) == [
        (42, "Error due to duplicate config keys")
    ]


# Incremental changes


def test_lists_grow_and_shrink_from_their_default(machine):
    assert incremental(machine, (TOPIC, "t", [("cleanup.policy", APPEND, "compact")])) == [
        (0, None)
    ]
    assert written(machine) == [("cleanup.policy", "delete,compact")]
    assert incremental(machine, (TOPIC, "t", [("cleanup.policy", SUBTRACT, "compact")])) == [
        (0, None)
    ]
    assert written(machine) == [("cleanup.policy", "delete")]
    incremental(machine, (TOPIC, "t", [("cleanup.policy", SUBTRACT, "delete")]))
    assert written(machine) == [("cleanup.policy", "")]
    incremental(machine, (TOPIC, "t", [("cleanup.policy", APPEND, "delete,delete")]))
    assert written(machine) == [("cleanup.policy", "delete")]


@pytest.mark.parametrize(
    ("kind", "name", "config", "operation", "value", "message"),
    [
        (TOPIC, "t", "retention.ms", APPEND, "1", "Can't APPEND to key retention.ms"),
        (TOPIC, "t", "retention.ms", SUBTRACT, "1", "Can't SUBTRACT to key retention.ms"),
        (TOPIC, "t", "nope", APPEND, "1", "Can't APPEND to key nope"),
        (METRICS, "m", "metrics", APPEND, "a", "Can't APPEND to key metrics"),
        (
            GROUP,
            "g",
            "share.auto.offset.reset",
            APPEND,
            "x",
            "Can't APPEND to key share.auto.offset.reset",
        ),
    ],
)
def test_only_lists_can_be_appended_to(machine, kind, name, config, operation, value, message):
    answer = incremental(machine, (kind, name, [(config, operation, value)]))

    assert answer == [(40, f"{message} because its type is not LIST.")]


def test_deleting_what_is_not_set_is_fine(machine):
    assert incremental(machine, (TOPIC, "t", [("retention.ms", DELETE, "ignored")])) == [(0, None)]
    assert incremental(machine, (TOPIC, "t", [("nope", DELETE, None)])) == [(0, None)]
    assert machine.records == []


def test_an_unknown_operation_is_refused(machine):
    ((code, _),) = incremental(machine, (TOPIC, "t", [("retention.ms", 7, "1")]))

    assert code != 0
    assert machine.records == []


def test_only_a_broker_hears_of_a_value_that_did_not_change(machine):
    for _ in range(2):
        incremental(machine, (TOPIC, "t", [("retention.ms", SET, "5")]))
    assert written(machine) == []
    for _ in range(2):
        incremental(machine, (BROKER, "1", [("log.retention.ms", SET, "5")]))
    assert written(machine) == [("log.retention.ms", "5")]


@pytest.mark.parametrize(
    ("name", "config", "operation", "value", "code", "message"),
    [
        ("1", "nope", SET, "DEBUG", 40, "Logger nope does not exist!"),
        ("1", "nope", DELETE, None, 40, "Logger nope does not exist!"),
        (
            "1",
            "root",
            SET,
            "FOO",
            40,
            "Cannot set the log level of root to FOO as it is not a supported log level. "
            "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN",
        ),
        ("", "root", SET, "INFO", 42, "Node id must be an integer, but it is: "),
        ("1", "root", DELETE, None, 42, "Removing the log level of the root logger is not allowed"),
        (
            "1",
            "root",
            APPEND,
            "x",
            42,
            "APPEND operation is not allowed for the BROKER_LOGGER resource",
        ),
        ("1", "root", SET, None, 42, "Null value not supported for : root"),
    ],
)
def test_loggers(machine, name, config, operation, value, code, message):
    assert incremental(machine, (LOGGER, name, [(config, operation, value)])) == [(code, message)]


def test_the_old_request_knows_no_loggers(machine):
    assert legacy(machine, (LOGGER, "1", [("root", "INFO")])) == [(42, "Unknown resource type 8")]


# The old way


def test_the_old_request_takes_away_what_it_does_not_name(machine):
    legacy(machine, (TOPIC, "t", [("retention.ms", "5"), ("retention.bytes", "6")]))

    assert legacy(machine, (TOPIC, "t", [("retention.ms", "7")])) == [(0, None)]

    assert written(machine) == [("retention.ms", "7"), ("retention.bytes", None)]
    assert machine.image.config(TOPIC, "t") == {"retention.ms": "7"}


# min.insync.replicas and the ELR

REMOVED = (40, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")


def test_the_cluster_s_minimum_cannot_be_removed_while_there_is_an_elr(machine):
    assert incremental(machine, (BROKER, "", [("min.insync.replicas", DELETE, None)])) == [REMOVED]
    assert legacy(machine, (BROKER, "", [("log.retention.ms", "5")])) == [REMOVED]
    assert legacy(machine, (BROKER, "", [])) == [REMOVED]


@pytest.mark.parametrize(("kind", "name", "topic"), [(TOPIC, "t", "t"), (BROKER, "", "")])
def test_another_minimum_makes_eligible_leaders_be_decided_anew(machine, kind, name, topic):
    incremental(machine, (kind, name, [("min.insync.replicas", SET, "2")]))

    assert machine.records[1:] == [ClearElrRecord(topic_name=topic)]


def test_without_an_elr_each_broker_may_have_its_own_minimum_until_it_comes_back(machine):
    def set_elr(level):
        kind = 1 if level else 2
        update = FeatureUpdateKey(
            feature="eligible.leader.replicas.version", max_version_level=level, upgrade_type=kind
        )
        request = UpdateFeaturesRequest(feature_updates=[update])
        assert machine.do(lambda c: c.update_features(request, 0)).error_code == 0

    set_elr(0)
    assert incremental(machine, (BROKER, "", [("min.insync.replicas", DELETE, None)])) == [
        (0, None)
    ]
    assert incremental(machine, (BROKER, "1", [("min.insync.replicas", SET, "3")])) == [(0, None)]
    assert len(machine.records) == 1

    set_elr(1)

    assert machine.image.configs == {ConfigKey(BROKER, ""): {"min.insync.replicas": "1"}}
