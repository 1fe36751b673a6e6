"""The table itself, what topics make of it, and the pages written from it."""

import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from klamm.base.reference_docs import render_config, render_errors
from klamm.base.settings.broker import Settings, build_settings, topic_settings
from klamm.base.settings.declare import InvalidValueError, Mode, Setting, settings_of
from klamm.base.settings.table import (
    AUTHORIZER,
    BROKER,
    CLIENT_METRICS,
    DYNAMIC_ONLY,
    GROUP,
    THEMES,
    find_broker_setting,
)
from klamm.base.settings.topic import TOPIC, TopicSettings

SOURCE = Path(__file__).parents[2] / "src" / "klamm"
ALL = [
    *(("topic", row) for row in TOPIC.values()),
    *(("broker", row) for table in (BROKER, AUTHORIZER, DYNAMIC_ONLY) for row in table.values()),
    *(("group", row) for row in GROUP.values()),
    *(("client-metrics", row) for row in CLIENT_METRICS.values()),
]


def test_kafka_shows_so_many_settings() -> None:
    def shown(rows: dict[str, Setting]) -> int:
        return sum(not row.hidden for row in rows.values())

    assert [shown(dict(table)) for table in (TOPIC, BROKER, GROUP, CLIENT_METRICS)] == [
        33,
        340,
        17,
        3,
    ]


def test_no_setting_is_declared_twice() -> None:
    assert sum(len(rows) for rows in THEMES.values()) == len(BROKER)


def test_a_default_is_a_value_of_its_setting() -> None:
    for _, row in ALL:
        if row.default is not None:
            assert row.read(str(row.default_text)) == row.default, row.name


def test_a_setting_is_told_in_one_plain_sentence() -> None:
    for _, row in ALL:
        assert row.doc[0].isupper(), row.name
        assert row.doc.endswith("."), row.name
        assert not set("\n|") & set(row.doc), row.name


def test_no_two_settings_of_a_resource_are_told_alike() -> None:
    told = [(resource, row.doc) for resource, row in ALL]

    assert [each for each in told if told.count(each) > 1] == []


def test_a_setting_that_acts_is_read_somewhere() -> None:
    source = "".join(path.read_text() for path in SOURCE.rglob("*.py"))
    themes = [each.type for each in fields(Settings) if is_dataclass(each.type)]

    unread = [
        row.name
        for theme in themes
        for attribute, row in settings_of(theme).items()
        if row.effective and not row.hidden and not re.search(rf"\.{attribute}\b", source)
    ]

    assert unread == []


def test_the_settings_behind_a_setting_exist() -> None:
    assert [name for _, row in ALL for name, _ in row.synonyms if name not in BROKER] == []


def test_topics_that_set_nothing_share_the_brokers_defaults() -> None:
    settings = build_settings({"message.max.bytes": "5", "log.cleanup.policy": "compact"})

    first, second = topic_settings(settings), topic_settings(settings)

    assert first is second
    assert (first.max_message_bytes, first.cleanup_policy) == (5, ("compact",))


def test_a_topic_without_a_config_has_kafkas_defaults() -> None:
    assert topic_settings(build_settings()) == TopicSettings()


def test_a_topic_covers_the_broker_which_covers_the_file() -> None:
    settings = build_settings(
        {"log.segment.bytes": "2000000", "message.max.bytes": "2", "log.index.interval.bytes": "2"}
    )
    dynamic = {"log.segment.bytes": "3000000", "message.max.bytes": "3"}

    topic = topic_settings(settings, dynamic, {"segment.bytes": "4000000"})

    assert (topic.segment_bytes, topic.max_message_bytes, topic.index_interval_bytes) == (
        4000000,
        3,
        2,
    )


def test_the_segment_size_for_tests_has_no_lower_bound() -> None:
    topic = topic_settings(build_settings(), {}, {"internal.segment.bytes": "100"})

    assert topic.segment_bytes == 100


def test_an_override_from_another_version_of_kafka_is_passed_over() -> None:
    assert (
        topic_settings(build_settings(), {}, {"message.format.version": "3.0"}) == TopicSettings()
    )


def test_a_list_loses_its_repetitions() -> None:
    assert TOPIC["cleanup.policy"].read("compact, compact ,delete") == ("compact", "delete")


def test_a_wrong_value_says_what_would_be_right() -> None:
    with pytest.raises(InvalidValueError) as refusal:
        TOPIC["segment.bytes"].read("5")

    assert refusal.value.setting.expected == "a 32-bit number at least 1048576"


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("log.dirs", "log.dirs"),
        ("listener.name.net.ssl.keystore.type", "ssl.keystore.type"),
        ("listener.name.net.scram-sha-256.sasl.jaas.config", "sasl.jaas.config"),
        ("super.users", "super.users"),
        ("leader.replication.throttled.rate", "leader.replication.throttled.rate"),
    ],
)
def test_a_key_leads_to_its_row(key: str, found: str) -> None:
    row = find_broker_setting(key)

    assert row is not None
    assert row.name == found


@pytest.mark.parametrize(
    "key", ["nope", "listener.name.net.nope", "listener.name.", "listener.name.net"]
)
def test_a_key_that_nobody_knows_leads_nowhere(key: str) -> None:
    assert find_broker_setting(key) is None


def test_what_changes_at_run_time_is_what_kafka_says() -> None:
    assert BROKER["log.retention.ms"].mode is Mode.CLUSTER_WIDE
    assert BROKER["listeners"].mode is Mode.PER_BROKER
    assert BROKER["log.dirs"].mode is Mode.READ_ONLY


def test_every_setting_that_is_shown_has_its_row_on_the_page() -> None:
    page = render_config()

    missing = [row.name for _, row in ALL if not row.hidden and f"| `{row.name}` |" not in page]
    assert missing == []


def test_tables_on_the_pages_have_rows_of_one_width() -> None:
    for block in (render_config() + "\n" + render_errors()).split("\n\n"):
        rows = [line for line in block.split("\n") if line.startswith("|")]
        assert len({row.replace("\\|", "").count("|") for row in rows}) <= 1, rows[:1]
