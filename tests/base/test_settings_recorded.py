"""What clients are shown and told about settings, against answers that a real Kafka 4.3.1 gave.

tests/base/data/record_configs.py asks the questions and says how to ask them again.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from base.data import config_questions as kinds
from klamm.base.errors import ApiError
from klamm.base.settings.broker import topic_settings
from klamm.base.settings.describe import (
    Entry,
    Layers,
    describe_broker,
    describe_client_metrics,
    describe_cluster,
    describe_group,
    describe_topic,
)
from klamm.base.settings.load import ConfigFile, load
from klamm.base.settings.validate import (
    validate_broker_configs,
    validate_client_metrics_configs,
    validate_group_configs,
    validate_topic_configs,
)

DATA = Path(__file__).parent / "data"
SETTINGS = load([ConfigFile("recorded.properties", (DATA / "recorded.properties").read_text())])
# With eligible leader replicas a new cluster writes this one by itself.
CLUSTER = {"min.insync.replicas": "1"}
BROKER_DYNAMIC = {
    "log.retention.ms": "5000",
    "log.cleaner.threads": "2",
    "listener.name.plaintext.max.connections": "600",
    "listener.name.plaintext.ssl.keystore.password": "secret",
    "leader.replication.throttled.rate": "1000",
    "custom.plugin.key": "x",
}
CLUSTER_DYNAMIC = {
    **CLUSTER,
    "log.retention.ms": "7000",
    "log.cleaner.threads": "3",
    "log.cleaner.backoff.ms": "16000",
}
BEFORE = Layers(SETTINGS, {}, CLUSTER)
AFTER = Layers(SETTINGS, BROKER_DYNAMIC, CLUSTER_DYNAMIC)


def recorded(name: str) -> dict[str, object]:
    return {entry["name"]: entry for entry in json.loads((DATA / name).read_text())}


def shown(entries: list[Entry]) -> dict[str, object]:
    return {
        entry.name: {
            "name": entry.name,
            "value": entry.value,
            "read_only": entry.read_only,
            "source": int(entry.source),
            "sensitive": entry.sensitive,
            "type": int(entry.kind),
            "synonyms": [[each.name, each.value, int(each.source)] for each in entry.synonyms],
        }
        for entry in entries
    }


def test_a_topic_that_sets_nothing_is_shown_as_kafka_shows_it() -> None:
    assert shown(describe_topic({}, BEFORE)) == recorded("topic_configs.json")


def test_a_topic_with_settings_of_its_own_is_shown_as_kafka_shows_it() -> None:
    overrides = {"retention.ms": " 1000 ", "cleanup.policy": "compact,compact,delete"}

    assert shown(describe_topic(overrides, AFTER)) == recorded("topic_configs_dynamic.json")


def test_a_broker_is_shown_as_kafka_shows_it() -> None:
    assert shown(describe_broker(BEFORE)) == recorded("broker_configs.json")


def test_a_broker_with_dynamic_settings_is_shown_as_kafka_shows_it() -> None:
    assert shown(describe_broker(AFTER)) == recorded("broker_configs_dynamic.json")


def test_the_clusters_defaults_are_shown_as_kafka_shows_them() -> None:
    assert shown(describe_cluster(CLUSTER)) == recorded("cluster_configs.json")
    assert shown(describe_cluster(CLUSTER_DYNAMIC)) == recorded("cluster_configs_dynamic.json")


def test_a_group_is_shown_as_kafka_shows_it() -> None:
    overrides = {"consumer.session.timeout.ms": "50000"}

    assert shown(describe_group(overrides, AFTER)) == recorded("group_configs.json")


def test_a_metrics_subscription_is_shown_as_kafka_shows_it() -> None:
    entries = describe_client_metrics({"interval.ms": "60000"})

    assert shown(entries) == recorded("client_metrics_configs.json")


def verdict(kind: int, resource: str, changes: Mapping[str, str]) -> list[object]:
    try:
        match kind:
            case kinds.TOPIC:
                defaults = topic_settings(SETTINGS, AFTER.dynamic)
                own = {"retention.ms": "1000", "cleanup.policy": "compact,delete"}
                validate_topic_configs({**own, **changes}, defaults)
            case kinds.BROKER:
                own = {**(BROKER_DYNAMIC if resource else CLUSTER_DYNAMIC), **changes}
                changed = replace(AFTER, broker=own) if resource else replace(AFTER, cluster=own)
                validate_broker_configs(
                    own,
                    cluster_default=not resource,
                    before=AFTER.in_force,
                    after=changed.in_force,
                )
            case kinds.GROUP:
                validate_group_configs(changes, SETTINGS.static)
            case kinds.CLIENT_METRICS:
                validate_client_metrics_configs(changes)
    except ApiError as error:
        return [int(error.code), error.message]
    return [0, None]


# Kafka tries the new listeners and finds one missing; klamm never changes listeners while it runs.
OTHER_REASON = [kinds.BROKER, "1", [["listeners", "PLAINTEXT://:9999"]]]
ANSWERS = json.loads((DATA / "verdicts.json").read_text())
VERDICTS = [
    answer
    for answer in ANSWERS
    if answer[:3] not in (OTHER_REASON, [kinds.BROKER, "", *OTHER_REASON[2:]])
]


@pytest.mark.parametrize(
    ("kind", "resource", "changes", "answer"),
    VERDICTS,
    ids=[f"{kind}-{resource}-{changes}" for kind, resource, changes, _ in VERDICTS],
)
def test_a_change_is_allowed_or_refused_as_kafka_does(
    kind: int, resource: str, changes: list[tuple[str, str]], answer: list[object]
) -> None:
    assert verdict(kind, resource, dict(changes)) == answer


def test_listeners_do_not_change_while_the_broker_runs() -> None:
    assert verdict(kinds.BROKER, "1", {"listeners": "PLAINTEXT://:9999"}) == [
        42,
        "Cannot update these configs dynamically: [listeners]",
    ]
