"""Configurations and features: describing, altering, listing."""

from typing import Any

from oracle.cases.case import FRESH, Ask, Case, case, create

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def _describe(kind: int, name: str, *keys: str, **more: Any) -> dict[str, Any]:
    resource = {
        "resource_type": kind,
        "resource_name": name,
        "configuration_keys": list(keys) or None,
    }
    return {"resources": [resource], **more}


_DESCRIBE: list[tuple[str, dict[str, Any]]] = [
    ("all of a topic", _describe(TOPIC, "small")),
    ("all of a topic with synonyms", _describe(TOPIC, "small", include_synonyms=True)),
    ("all of a topic with documentation", _describe(TOPIC, "full", include_documentation=True)),
    ("some of a topic", _describe(TOPIC, "small", "max.message.bytes", "retention.ms")),
    ("an unknown key of a topic", _describe(TOPIC, "small", "no.such.config")),
    ("an unknown topic", _describe(TOPIC, "nobody")),
    ("a bad topic name", _describe(TOPIC, "a b")),
    ("an empty topic name", _describe(TOPIC, "")),
    ("some of a broker", _describe(BROKER, "1", "node.id", "num.partitions", "log.retention.ms", "log.retention.hours",
                                   "message.max.bytes", "ssl.keystore.password", include_synonyms=True)),
    ("the default of brokers", _describe(BROKER, "")),
    ("another broker", _describe(BROKER, "7")),
    ("a broker that is no number", _describe(BROKER, "one")),
    ("a group", _describe(GROUP, "some-group", include_synonyms=True)),
    ("an empty group name", _describe(GROUP, "")),
    ("client metrics", _describe(CLIENT_METRICS, "some-subscription")),
    ("an unknown kind of resource", _describe(99, "x")),
    ("kind zero", _describe(0, "x")),
    ("nothing", {"resources": []}),
    ("the same topic twice", {"resources": 2 * _describe(TOPIC, "full", "retention.ms")["resources"]}),
]  # fmt: skip


def _alter(kind: int, name: str, *configs: dict[str, Any], **more: Any) -> dict[str, Any]:
    resource = {"resource_type": kind, "resource_name": name, "configs": list(configs)}
    return {"resources": [resource], **more}


def _value(name: str, value: str | None, operation: int | None = None) -> dict[str, Any]:
    change: dict[str, Any] = {"name": name, "value": value}
    return change if operation is None else {**change, "config_operation": operation}


_AFTER = [
    Ask(
        "describe_configs",
        _describe(TOPIC, FRESH, "retention.ms", "cleanup.policy", "segment.bytes"),
    )
]
_MADE = [create(retention_ms="1000", cleanup_policy="compact")]

# Not asked: the same topic twice. Kafka never answers it.
_REPLACE: list[tuple[str, dict[str, Any]]] = [
    ("one config", _alter(TOPIC, FRESH, _value("segment.bytes", "2000000"))),
    ("all configs away", _alter(TOPIC, FRESH)),
    ("only validated", _alter(TOPIC, FRESH, _value("retention.ms", "7"), validate_only=True)),
    (
        "a bad value, only validated",
        _alter(TOPIC, FRESH, _value("retention.ms", "x"), validate_only=True),
    ),
    ("an unknown config", _alter(TOPIC, FRESH, _value("no.such.config", "1"))),
    ("a bad value", _alter(TOPIC, FRESH, _value("retention.ms", "soon"))),
    ("a null value", _alter(TOPIC, FRESH, _value("retention.ms", None))),
    ("an unknown topic", _alter(TOPIC, "nobody", _value("retention.ms", "1"))),
    ("a bad topic name", _alter(TOPIC, "a b", _value("retention.ms", "1"))),
    ("an unknown kind of resource", _alter(99, "x", _value("retention.ms", "1"))),
    ("an unknown broker", _alter(BROKER, "7", _value("log.retention.ms", "1"))),
    ("a broker that is no number", _alter(BROKER, "one", _value("log.retention.ms", "1"))),
    ("nothing", {"resources": []}),
]

_CHANGE: list[tuple[str, dict[str, Any]]] = [
    ("set", _alter(TOPIC, FRESH, _value("segment.bytes", "2000000", SET))),
    ("delete", _alter(TOPIC, FRESH, _value("retention.ms", None, DELETE))),
    ("delete what is not set", _alter(TOPIC, FRESH, _value("segment.bytes", None, DELETE))),
    ("delete with a value", _alter(TOPIC, FRESH, _value("retention.ms", "5", DELETE))),
    ("append", _alter(TOPIC, FRESH, _value("cleanup.policy", "delete", APPEND))),
    ("append what is there", _alter(TOPIC, FRESH, _value("cleanup.policy", "compact", APPEND))),
    ("append to what is no list", _alter(TOPIC, FRESH, _value("retention.ms", "1", APPEND))),
    ("append a bad value", _alter(TOPIC, FRESH, _value("cleanup.policy", "burn", APPEND))),
    ("subtract", _alter(TOPIC, FRESH, _value("cleanup.policy", "compact", SUBTRACT))),
    ("subtract what is not there", _alter(TOPIC, FRESH, _value("cleanup.policy", "delete", SUBTRACT))),
    ("subtract from what is no list", _alter(TOPIC, FRESH, _value("retention.ms", "1", SUBTRACT))),
    ("an unknown operation", _alter(TOPIC, FRESH, _value("retention.ms", "1", 9))),
    ("one config twice", _alter(TOPIC, FRESH, _value("retention.ms", "1", SET), _value("retention.ms", "2", SET))),
    ("only validated", _alter(TOPIC, FRESH, _value("retention.ms", "7", SET), validate_only=True)),
    ("a null value", _alter(TOPIC, FRESH, _value("retention.ms", None, SET))),
    ("an unknown config", _alter(TOPIC, FRESH, _value("no.such.config", "1", SET))),
    ("delete an unknown config", _alter(TOPIC, FRESH, _value("no.such.config", None, DELETE))),
    ("a bad value", _alter(TOPIC, FRESH, _value("retention.ms", "soon", SET))),
    ("no changes", _alter(TOPIC, FRESH)),
    ("an unknown topic", _alter(TOPIC, "nobody", _value("retention.ms", "1", SET))),
    ("an empty topic name", _alter(TOPIC, "", _value("retention.ms", "1", SET))),
    ("an unknown kind of resource", _alter(99, "x", _value("retention.ms", "1", SET))),
    ("a broker config that needs a restart", _alter(BROKER, "1", _value("log.dirs", "/nowhere", SET))),
    ("a broker config that needs a restart, for all", _alter(BROKER, "", _value("num.partitions", "3", SET))),
    ("an unknown broker config", _alter(BROKER, "1", _value("no.such.config", "1", SET))),
    ("a bad value of a broker", _alter(BROKER, "", _value("log.retention.ms", "soon", SET))),
    ("an unknown broker", _alter(BROKER, "7", _value("log.retention.ms", "1000", SET))),
    ("a group", _alter(GROUP, FRESH, _value("consumer.session.timeout.ms", "50000", SET))),
    ("a bad value of a group", _alter(GROUP, FRESH, _value("consumer.session.timeout.ms", "1", SET))),
    ("an unknown config of a group", _alter(GROUP, FRESH, _value("no.such.config", "1", SET))),
    ("client metrics", _alter(CLIENT_METRICS, FRESH, _value("interval.ms", "1000", SET))),
    ("a bad value of client metrics", _alter(CLIENT_METRICS, FRESH, _value("interval.ms", "1", SET))),
    ("an unknown config of client metrics", _alter(CLIENT_METRICS, FRESH, _value("no.such", "1", SET))),
    ("good and bad together", {"resources": [
        *_alter(TOPIC, FRESH, _value("retention.ms", "9", SET))["resources"],
        *_alter(TOPIC, "nobody", _value("retention.ms", "9", SET))["resources"]]}),
    ("nothing", {"resources": []}),
]  # fmt: skip

_BROKER_CONFIG = [
    case("incremental_alter_configs", "the default of all brokers",
         _alter(BROKER, "", _value("log.cleaner.threads", "2", SET)),
         after=[Ask("describe_configs", _describe(BROKER, "", include_synonyms=True)),
                Ask("describe_configs", _describe(BROKER, "1", "log.cleaner.threads", include_synonyms=True))]),
    case("incremental_alter_configs", "one broker",
         _alter(BROKER, "1", _value("log.cleaner.threads", "3", SET)),
         after=[Ask("describe_configs", _describe(BROKER, "1", "log.cleaner.threads", include_synonyms=True))]),
    case("incremental_alter_configs", "broker configs back",
         {"resources": [*_alter(BROKER, "1", _value("log.cleaner.threads", None, DELETE))["resources"],
                        *_alter(BROKER, "", _value("log.cleaner.threads", None, DELETE))["resources"]]},
         after=[Ask("describe_configs", _describe(BROKER, "1", "log.cleaner.threads", include_synonyms=True))]),
]  # fmt: skip

_LIST: list[tuple[str, list[int]]] = [
    ("everything", []),
    ("topics", [TOPIC]),
    ("brokers", [BROKER]),
    ("loggers of brokers", [BROKER_LOGGER]),
    ("groups and client metrics", [GROUP, CLIENT_METRICS]),
    ("an unknown kind", [99]),
]


def _feature(
    name: str, level: int, *, upgrade: int = 1, validate_only: bool = True
) -> dict[str, Any]:
    update = {"feature": name, "max_version_level": level, "upgrade_type": upgrade}
    return {"feature_updates": [update], "validate_only": validate_only, "timeout_ms": 5_000}


_FEATURES: list[tuple[str, dict[str, Any]]] = [
    ("a level that it has", _feature("metadata.version", 30)),
    ("a level that nobody has", _feature("metadata.version", 99)),
    ("a lower level", _feature("metadata.version", 25)),
    ("a lower level, safely", _feature("metadata.version", 25, upgrade=2)),
    ("a lower level, unsafely", _feature("metadata.version", 25, upgrade=3)),
    ("an unknown feature", _feature("no.such.feature", 1)),
    ("a negative level", _feature("group.version", -1)),
    ("level zero", _feature("group.version", 0)),
    ("level zero, safely", _feature("group.version", 0, upgrade=2)),
    ("an unknown kind of change", _feature("group.version", 1, upgrade=9)),
    ("no features", {"feature_updates": [], "validate_only": True}),
    ("a feature named twice",
     {"feature_updates": 2 * _feature("group.version", 1)["feature_updates"], "validate_only": True}),
]  # fmt: skip

CASES: list[Case] = [
    *(case("describe_configs", name, values) for name, values in _DESCRIBE),
    *(case("alter_configs", n, v, before=_MADE, after=_AFTER) for n, v in _REPLACE),
    *(case("incremental_alter_configs", n, v, before=_MADE, after=_AFTER) for n, v in _CHANGE),
    *_BROKER_CONFIG,
    *(case("list_config_resources", n, {"resource_types": kinds}, since=1) for n, kinds in _LIST),
    case("list_config_resources", "client metrics", {}, until=0),
    *(case("update_features", name, values, since=1) for name, values in _FEATURES),
]
