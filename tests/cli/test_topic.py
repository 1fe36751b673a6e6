"""klamm topic create, list, describe, alter, delete."""

import pytest

from cli.commands import Klamm


def test_created_topic_has_the_partitions_and_configs_asked_for(ask: Klamm, new_name: str) -> None:
    created = ask("topic", "create", new_name, "-p", "3", "-r", "1", "-c", "retention.ms=60000")

    assert (created.code, created.rows) == (0, [{"topic": new_name, "created": True}])
    described = ask("topic", "describe", new_name).rows[0]
    assert [row["partition"] for row in described["partitions"]] == [0, 1, 2]
    assert described["configs"] == {"retention.ms": "60000"}
    assert ask("topic", "delete", new_name).rows == [{"topic": new_name, "deleted": True}]


def test_describe_tells_offsets_and_replicas_of_each_partition(ask: Klamm, topic: str) -> None:
    ask("produce", topic, "-p", "1", stdin=b"a\nb\n")

    partitions = ask("topic", "describe", topic).rows[0]["partitions"]

    offsets = [(row["partition"], row["start_offset"], row["end_offset"]) for row in partitions]
    assert offsets == [(0, 0, 0), (1, 0, 2)]
    assert all(row["replicas"] == row["isr"] == [row["leader"]] for row in partitions)


def test_describe_all_shows_defaults_with_their_source(ask: Klamm, topic: str) -> None:
    few = ask("topic", "describe", topic).rows[0]["configs"]
    many = ask("topic", "describe", topic, "--all").rows[0]["configs"]

    assert few == {}
    assert many["cleanup.policy"] == "delete"


def test_creating_twice_is_an_error_unless_asked_not_to_be(ask: Klamm, topic: str) -> None:
    refused = ask("topic", "create", topic)
    accepted = ask("topic", "create", topic, "--if-not-exists")

    assert (refused.code, refused.rows) == (1, [])
    assert "TOPIC_ALREADY_EXISTS" in refused.err
    assert "try:" in refused.err
    assert (accepted.code, accepted.rows) == (0, [{"topic": topic, "created": False}])


def test_dry_run_creates_nothing(ask: Klamm, new_name: str) -> None:
    tried = ask("topic", "create", new_name, "--dry-run")

    assert (tried.code, tried.rows) == (0, [{"topic": new_name, "created": False}])
    assert ask("topic", "list", new_name).rows == []


def test_one_bad_topic_does_not_stop_the_others(ask: Klamm, topic: str, new_name: str) -> None:
    deleted = ask("topic", "delete", f"{new_name}-absent", topic)

    assert deleted.code == 1
    assert deleted.rows == [{"topic": topic, "deleted": True}]
    assert f"{new_name}-absent was not deleted" in deleted.err


def test_list_filters_by_pattern(ask: Klamm, topic: str) -> None:
    assert ask("topic", "list", f"{topic[:-1]}*").rows == [
        {"topic": topic, "partitions": 2, "replicas": 1}
    ]
    assert ask("topic", "list", "no-such-*").rows == []


def test_alter_sets_and_removes_configs_and_adds_partitions(ask: Klamm, topic: str) -> None:
    ask(
        "topic",
        "alter",
        topic,
        "--config",
        "retention.ms=1000",
        "--config",
        "segment.bytes=1048576",
    )
    altered = ask("topic", "alter", topic, "--delete-config", "retention.ms", "--partitions", "4")

    assert (altered.code, altered.rows) == (0, [{"topic": topic, "altered": True}])
    described = ask("topic", "describe", topic).rows[0]
    assert described["configs"] == {"segment.bytes": "1048576"}
    assert len(described["partitions"]) == 4


def test_alter_with_a_bad_value_says_so(ask: Klamm, topic: str) -> None:
    refused = ask("topic", "alter", topic, "--config", "retention.ms=soon")

    assert refused.code == 1
    assert "retention.ms" in refused.err


def test_alter_without_a_change_is_wrong_usage(ask: Klamm, topic: str) -> None:
    assert ask("topic", "alter", topic).code == 2


def test_config_without_a_value_is_wrong_usage(ask: Klamm, new_name: str) -> None:
    refused = ask("topic", "create", new_name, "-c", "retention.ms")

    assert refused.code == 2
    assert "KEY=VALUE" in refused.err


def test_table_is_for_people(ask: Klamm, topic: str) -> None:
    table = ask("topic", "describe", topic, "-o", "table").text

    assert table.splitlines()[0].startswith(topic)
    assert "start offset" in table.splitlines()[1]


def test_unknown_topic_cannot_be_described(ask: Klamm, new_name: str) -> None:
    answer = ask("topic", "describe", new_name)

    assert (answer.code, answer.out) == (1, b"")
    assert "klamm topic create" in answer.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("create", "x", "-p", "-3"),
        ("create", "x", "-p", "0"),
        ("create", "x", "-p", "100000000"),
        ("create", "x", "-r", "-7"),
        ("create", "x", "-r", "0"),
        ("create", "x", "-r", "99999"),
        ("create", ""),
        ("alter", "x", "-p", "-5"),
        ("alter", "x", "-d", ""),
        ("describe", ""),
        ("delete", "y" * 40_000),
    ],
)
def test_what_no_topic_can_have_is_wrong_usage(ask: Klamm, arguments: tuple[str, ...]) -> None:
    answer = ask("topic", *arguments)

    assert (answer.code, answer.out) == (2, b"")
    assert "only grow" not in answer.err


def test_topic_that_cannot_shrink_says_so(ask: Klamm, topic: str) -> None:
    answer = ask("topic", "alter", topic, "-p", "1")

    assert answer.code == 1
    assert "a topic can only grow" in answer.err


def test_deleting_what_is_not_there_does_not_advise_to_create_it(ask: Klamm, new_name: str) -> None:
    answer = ask("topic", "delete", new_name)

    assert answer.code == 1
    assert "topic create" not in answer.err
    assert "--if-exists" in answer.err
