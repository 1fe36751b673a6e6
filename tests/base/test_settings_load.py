from contextlib import suppress
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from klamm.base.settings.broker import Settings
from klamm.base.settings.load import ConfigFile, SettingsError, load
from klamm.base.settings.table import BROKER

CLUSTER = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
controller.listener.names=CONTROLLER
"""


def properties(text: str) -> list[ConfigFile]:
    return [ConfigFile("server.properties", text)]


def toml(text: str) -> list[ConfigFile]:
    return [ConfigFile("klamm.toml", text)]


def problems_of(files: list[ConfigFile], **sources: object) -> list[str]:
    with pytest.raises(SettingsError) as refusal:
        load(files, **sources)  # type: ignore[arg-type]
    return str(refusal.value).split("\n")


def test_nothing_at_all_is_a_broker_of_its_own_on_this_machine() -> None:
    settings = load()

    assert settings.node.process_roles == ("broker", "controller")
    assert settings.node.node_id == 1
    assert [str(each) for each in settings.listeners.for_clients()] == [
        "PLAINTEXT://127.0.0.1:9092"
    ]
    assert settings.listeners.for_controllers() == ()
    assert settings.listeners.advertised() == ()


def test_a_file_of_kafka_is_read_as_it_is() -> None:
    settings = load(properties(CLUSTER + "num.partitions = 3\nlog.dirs=/a,/b\n"))

    assert settings.topics.num_partitions == 3
    assert settings.log.directories == ("/a", "/b")
    assert [str(each) for each in settings.listeners.for_controllers()] == ["CONTROLLER://:9093"]


def test_toml_takes_dotted_keys_and_tables() -> None:
    text = """
    log.segment.bytes = 2097152
    auto.create.topics.enable = false
    log.dirs = ["/a", "/b"]
    [log.cleaner.min]
    cleanable.ratio = 0.75
    """

    settings = load(toml(text))

    assert settings.topic_defaults.segment_bytes == 2097152
    assert settings.topics.auto_create is False
    assert settings.log.directories == ("/a", "/b")
    assert settings.topic_defaults.min_cleanable_dirty_ratio == 0.75


def test_toml_that_takes_a_key_for_a_table_gets_a_hint() -> None:
    problems = problems_of(toml("max.connections = 5\nmax.connections.per.ip = 3"))

    assert len(problems) == 1
    assert '"max.connections" = 100' in problems[0]


def test_toml_has_types_that_no_setting_has() -> None:
    assert problems_of(toml("num.partitions = 1979-05-27")) == [
        "klamm.toml: num.partitions: a date cannot be the value of a setting"
    ]


def test_an_environment_variable_is_a_setting_in_capitals() -> None:
    env = {
        "KLAMM_NUM_PARTITIONS": "7",
        "KLAMM_LISTENER_NAME_MY__NET_MAX_CONNECTIONS": "5",
        "HOME": "/root",
    }

    settings = load(env=env)

    assert settings.topics.num_partitions == 7
    assert settings.static["listener.name.my_net.max.connections"] == "5"


def test_flags_win_over_environment_over_files() -> None:
    files = properties("num.partitions=2\ndefault.replication.factor=2\nmessage.max.bytes=2")
    env = {"KLAMM_NUM_PARTITIONS": "3", "KLAMM_DEFAULT_REPLICATION_FACTOR": "3"}

    settings = load(files, env=env, overrides=["num.partitions=4"])

    assert settings.topics.num_partitions == 4
    assert settings.topics.default_replication_factor == 3
    assert settings.topic_defaults.max_message_bytes == 2


def test_a_later_file_wins_over_an_earlier_one() -> None:
    files = [
        ConfigFile("a.properties", "num.partitions=2"),
        ConfigFile("b.toml", "num.partitions = 3"),
    ]

    assert load(files).topics.num_partitions == 3


@pytest.mark.parametrize(
    ("text", "retention_ms"),
    [
        ("", 7 * 86_400_000),
        ("log.retention.hours=2", 7_200_000),
        ("log.retention.hours=2\nlog.retention.minutes=3", 180_000),
        ("log.retention.hours=2\nlog.retention.minutes=3\nlog.retention.ms=4", 4),
        ("log.retention.hours=-1", -1),
        ("log.retention.ms=-7", -1),
    ],
)
def test_the_finest_unit_of_the_retention_wins(text: str, retention_ms: int) -> None:
    assert load(properties(text)).topic_defaults.retention_ms == retention_ms


def test_a_coarse_unit_in_a_flag_wins_over_a_fine_one_in_a_file() -> None:
    settings = load(
        properties("log.retention.ms=5\nlog.dirs=/a"),
        overrides=["log.retention.hours=1", "log.dir=/b"],
    )

    assert settings.topic_defaults.retention_ms == 3_600_000
    assert settings.log.directories == ("/b",)


def test_the_old_name_of_the_node_id_still_holds() -> None:
    settings = load(properties(CLUSTER.replace("node.id", "broker.id")))

    assert settings.node.node_id == 1


def test_keys_of_listeners_and_plugins_are_accepted() -> None:
    text = """
    listener.name.plaintext.ssl.keystore.type=PKCS12
    listener.name.plaintext.scram-sha-256.sasl.jaas.config=x
    listener.name.plaintext.anything=1
    super.users=User:admin
    allow.everyone.if.no.acl.found=true
    rsm.config.bucket=x
    """

    assert "rsm.config.bucket" in load(properties(text)).static


def test_settings_without_effect_can_be_told() -> None:
    settings = load(
        properties("num.io.threads=4\nnum.partitions=3\nsecurity.providers=x\nrsm.config.a=1")
    )

    assert set(settings.without_effect()) == {
        "num.io.threads",
        "security.providers",
        "rsm.config.a",
    }


def test_the_last_of_two_equal_keys_in_a_file_wins() -> None:
    assert load(properties("num.partitions=2\nnum.partitions=3")).topics.num_partitions == 3


def test_any_setting_can_be_read_by_name() -> None:
    settings = load(properties("num.io.threads=4"))

    assert settings.value("num.io.threads") == 4
    assert settings.value("background.threads") == 10


def test_all_problems_are_told_at_once_each_in_one_line() -> None:
    text = "log.segment.byte=5\nnum.partitions=abc\n\nlog.segment.bytes=5\ncompression.type=none\nlog.dirs=\n"

    problems = problems_of(properties(text), env={"KLAMM_NUM_PARTITION": "3"}, overrides=["what"])

    assert problems == [
        "flag: what: has no value (expected: key=value)",
        "server.properties:1: log.segment.byte: unknown setting; did you mean log.segment.bytes?",
        "server.properties:2: num.partitions = abc: Not a number of type INT (expected: a 32-bit number at least 1)",
        "server.properties:4: log.segment.bytes = 5: Value must be at least 1048576 "
        "(expected: a 32-bit number at least 1048576)",
        "server.properties:5: compression.type = none: String must be one of: uncompressed, zstd, lz4, snappy, gzip, "
        "producer (expected: one of uncompressed, zstd, lz4, snappy, gzip, producer)",
        "server.properties:6: log.dirs = : must not be empty (expected: a comma-separated list not empty)",
        "environment KLAMM_NUM_PARTITION: num.partition: unknown setting; did you mean num.partitions?",
    ]


def test_a_key_that_resembles_nothing_is_just_unknown() -> None:
    assert problems_of(properties("xyzzy=1")) == ["server.properties:1: xyzzy: unknown setting"]


@pytest.mark.parametrize(
    "key",
    [
        "zookeeper.connect",
        "zookeeper.set.acl",
        "inter.broker.protocol.version",
        "log.message.format.version",
        "port",
    ],
)
def test_a_setting_of_kafka_3_is_refused_with_advice(key: str) -> None:
    (problem,) = problems_of(properties(f"{key}=x"))

    assert problem.startswith(f"server.properties:1: {key}: ")
    assert "gone" in problem


def test_a_throttle_cannot_stand_in_a_file() -> None:
    assert problems_of(properties("leader.replication.throttled.rate=5")) == [
        "server.properties:1: leader.replication.throttled.rate: can be set only while the broker runs"
    ]


def test_a_secret_is_never_told() -> None:
    row = "listener.name.x.ssl.keystore.password=secret\nssl.key.password=secret\nnum.partitions=0"

    assert not any("secret" in problem for problem in problems_of(properties(row)))


def test_a_file_that_is_no_properties_file_is_told_by_name() -> None:
    assert problems_of(properties("a=\\uXYZ")) == [
        "server.properties: line 1: \\u must be followed by four hexadecimal digits"
    ]


def test_every_theme_is_a_group_of_the_settings() -> None:
    groups = {each.name for each in fields(Settings)}

    assert groups == {
        "node",
        "listeners",
        "network",
        "topics",
        "log",
        "quorum",
        "replication",
        "group",
        "transaction",
        "authorization",
        "standard_authorizer",
        "topic_defaults",
        "static",
    }


@pytest.mark.parametrize("text", ["a = " + "[" * 5_000, "a." * 5_000 + "a = 1"])
def test_toml_that_is_nested_too_deep_is_a_problem_like_any_other(text: str) -> None:
    with pytest.raises(SettingsError, match="nested too deep"):
        load([ConfigFile("klamm.toml", text)])


@pytest.mark.parametrize("number", ["-1", "-7"])
def test_old_name_of_the_node_s_number_cannot_be_negative(number: str) -> None:
    with pytest.raises(SettingsError, match=r"broker\.id"):
        load(overrides=[f"broker.id={number}"])


HOSTILE = (
    *(
        "",
        "0",
        "-1",
        "-7",
        "9" * 5_000,
        "99999999999999999999",
        "nan",
        "inf",
        "1e400",
        "x",
        "é",
        "\udcff",
    ),
    *(
        "x" * 3_000,
        ",",
        ",,",
        "=",
        "1@",
        "1@:",
        "1@h:9999999",
        "A://",
        "A://:1",
        "PLAINTEXT://:99999",
    ),
    *(
        "PLAINTEXT://[::1",
        "PLAINTEXT://[]:1",
        "٣",
        "1_0",
        "0x1",
        "true",
        "${x}",
        "\\",
        "\t",
        "1.1.1.1:x",
    ),
)


@settings(max_examples=1_000, derandomize=True, database=None)
@given(
    name=st.sampled_from(sorted(BROKER)), text=st.sampled_from(HOSTILE), in_cluster=st.booleans()
)
def test_every_setting_takes_a_value_or_says_what_is_wrong(
    name: str, text: str, in_cluster: bool
) -> None:
    with suppress(SettingsError):
        load([ConfigFile("f", CLUSTER if in_cluster else "")], overrides=[f"{name}={text}"])
