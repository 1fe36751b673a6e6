"""klamm storage format, info and random-uuid."""

from pathlib import Path
from random import SystemRandom

import pytest

from cli.commands import Answer, Klamm
from klamm.base.ids import OffsetAndEpoch, Uuid
from klamm.metadata import snapshot
from klamm.protocol.messages.control import KRaftVersionRecord, VotersRecord
from klamm.security.sasl.scram import SHA_256, SHA_512, ScramClient
from server.login.logging_in import log_in
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.brokers import free_port

CLUSTER = "ZmFtb3VzLWZhbXVsdXMtZg"
FIRST = snapshot.file_name(OffsetAndEpoch(0, 0))


@pytest.fixture
def config(tmp_path: Path) -> str:
    file = tmp_path / "server.properties"
    file.write_text(f"log.dirs={tmp_path}/one,{tmp_path}/two\n")
    return str(file)


def test_formatted_directories_belong_to_the_cluster(
    klamm: Klamm, config: str, tmp_path: Path
) -> None:
    formatted = klamm("storage", "format", "-t", CLUSTER, "-c", config)

    assert formatted.code == 0
    assert len(formatted.text.splitlines()) == 2
    info = klamm("storage", "info", "-c", config).rows
    assert [row["directory"] for row in info] == [f"{tmp_path}/one", f"{tmp_path}/two"]
    assert {row["cluster_id"] for row in info} == {CLUSTER}
    assert len({row["directory_id"] for row in info}) == 2


def test_info_tells_what_is_not_formatted(klamm: Klamm, config: str) -> None:
    assert [row["formatted"] for row in klamm("storage", "info", "-c", config).rows] == [
        False,
        False,
    ]


def test_formatting_twice_is_refused_unless_asked(klamm: Klamm, config: str) -> None:
    klamm("storage", "format", "--cluster-id", CLUSTER, "--config", config)

    refused = klamm("storage", "format", "--cluster-id", CLUSTER, "--config", config)
    ignored = klamm(
        "storage", "format", "--cluster-id", CLUSTER, "--config", config, "--ignore-formatted"
    )

    assert refused.code == 1
    assert "already formatted" in refused.err
    assert ignored.code == 0


def test_bad_settings_are_wrong_usage(klamm: Klamm) -> None:
    answer = klamm("storage", "info", "--set", "no.such.setting=1")

    assert answer.code == 2
    assert "no.such.setting" in answer.err


def test_random_ids_differ_and_can_stand_behind_an_option(klamm: Klamm) -> None:
    ids = {klamm("storage", "random-uuid").text.strip() for _ in range(20)}

    assert len(ids) == 20
    assert not any(text.startswith("-") for text in ids)
    assert all(str(Uuid.parse(text)) == text for text in ids)


CONTROLLER = """process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:9093
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
controller.listener.names=CONTROLLER
"""
VOTERS = "1@127.0.0.1:9093:N3pWlhtPTKmW2GNbJA4J7w,2@127.0.0.1:9193:tPpRcxRvSpmyz4N7qVdGvQ"


def formatted(klamm: Klamm, data: Path, text: str, *options: str) -> Answer:
    file = data.parent / f"{data.name}.properties"
    file.write_text(f"{text}log.dirs={data}\n")
    return klamm("storage", "format", "-t", CLUSTER, "-c", str(file), *options)


def voters_of(data: Path) -> list[tuple[int, str, str, int]]:
    head = snapshot.head_of((data / "__cluster_metadata-0" / FIRST).read_bytes())
    _, version, record = head
    assert version == KRaftVersionRecord(kraft_version=1)
    assert isinstance(record, VotersRecord)
    return [
        (each.voter_id, str(each.voter_directory_id), end.host, end.port)
        for each in record.voters
        for end in each.endpoints
    ]


# The lines and the records are what Kafka 4.3.1's own tool writes.


def test_a_standalone_controller_is_the_only_voter_of_its_log(klamm: Klamm, tmp_path: Path) -> None:
    data = tmp_path / "data"

    done = formatted(klamm, data, CONTROLLER, "--standalone")

    assert done.text.splitlines() == [
        f"Formatting dynamic metadata voter directory {data} with metadata.version 4.3-IV0."
    ]
    (voter,) = voters_of(data)
    assert voter[0] == 1
    assert f"directory.id={voter[1]}\n" in (data / "meta.properties").read_text()
    assert voter[2:] == ("127.0.0.1", 9093)


def test_initial_controllers_have_the_directories_that_were_given(
    klamm: Klamm, tmp_path: Path
) -> None:
    done = formatted(klamm, tmp_path / "own", CONTROLLER, "--initial-controllers", VOTERS)
    other = CONTROLLER.replace("node.id=1", "node.id=7")
    not_one = formatted(klamm, tmp_path / "other", other, "-I", VOTERS)

    assert "Formatting dynamic metadata voter directory" in done.text
    assert "Formatting dynamic metadata directory" in not_one.text
    assert "directory.id=N3pWlhtPTKmW2GNbJA4J7w\n" in (tmp_path / "own/meta.properties").read_text()
    assert voters_of(tmp_path / "own") == voters_of(tmp_path / "other")
    assert voters_of(tmp_path / "own") == [
        (1, "N3pWlhtPTKmW2GNbJA4J7w", "127.0.0.1", 9093),
        (2, "tPpRcxRvSpmyz4N7qVdGvQ", "127.0.0.1", 9193),
    ]


def test_without_initial_controllers_the_log_begins_empty(klamm: Klamm, tmp_path: Path) -> None:
    data = tmp_path / "data"

    done = formatted(klamm, data, CONTROLLER, "--no-initial-controllers")

    assert "Formatting metadata directory" in done.text
    assert not (data / "__cluster_metadata-0").exists()


STATIC = CONTROLLER.replace("bootstrap.servers=", "voters=1@")
BROKER = CONTROLLER.replace("broker,controller", "broker").replace(
    ",CONTROLLER://127.0.0.1:9093", ""
)


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        (CONTROLLER, [], "you must specify one of the following"),
        (STATIC, ["--standalone"], "You cannot specify controller.quorum.voters"),
        (STATIC, ["-I", VOTERS], "You cannot specify controller.quorum.voters"),
        (BROKER, ["--standalone"], "You can only use --standalone on a controller."),
        (CONTROLLER, ["-I", "1@127.0.0.1:9093"], "id@host:port:directory"),
        (CONTROLLER, ["-I", "x@127.0.0.1:9093:N3pWlhtPTKmW2GNbJA4J7w"], "id@host:port:directory"),
        (CONTROLLER, ["-I", "1@127.0.0.1:0:N3pWlhtPTKmW2GNbJA4J7w"], "no port"),
        (CONTROLLER, ["-I", "1@127.0.0.1:9093:short"], "not a directory id"),
        (CONTROLLER, ["-I", f"{VOTERS},{VOTERS}"], "more than once"),
    ],
)
def test_what_cannot_be_meant_formats_nothing(
    klamm: Klamm, tmp_path: Path, text: str, options: list[str], sentence: str
) -> None:
    refused = formatted(klamm, tmp_path / "data", text, *options)

    assert refused.code == 1
    assert sentence in refused.err
    assert not (tmp_path / "data").exists()


def test_one_way_to_begin_a_quorum_excludes_the_others(klamm: Klamm, tmp_path: Path) -> None:
    refused = formatted(klamm, tmp_path / "data", CONTROLLER, "--standalone", "-N")

    assert refused.code == 2
    assert "not allowed with" in refused.err


@pytest.mark.parametrize(
    ("user", "sentence"),
    [
        ("ann:plum", "is written as"),
        ("SCRAM-MD5=[name=ann,password=pear]", "SCRAM-MD5 is not supported"),
        ("SCRAM-SHA-256=[password=pear]", "You must supply 'name'"),
        ("SCRAM-SHA-256=[name=ann]", "one of 'password' or 'saltedpassword'"),
        ("SCRAM-SHA-256=[name=ann,saltedpassword=cGVhcg==]", "'salt' with 'saltedpassword'"),
        ("SCRAM-SHA-256=[name=ann,password=plum,iterations=1]", "must be >= 4096"),
        ("SCRAM-SHA-256=[name=ann,password=plum,iterations=x]", "are a number"),
        ("SCRAM-SHA-256=[name=ann,password=plum,salt=%]", "not base64"),
        ("SCRAM-SHA-256=[name=ann,password=plum,age=5]", "Unknown --add-scram key: age"),
        ('SCRAM-SHA-256=[name=ann,"]', "key=value"),
    ],
)
def test_what_is_no_user_is_told_in_a_sentence(
    klamm: Klamm, config: str, user: str, sentence: str
) -> None:
    refused = klamm("storage", "format", "-t", CLUSTER, "-c", config, "--add-scram", user)

    assert refused.code == 1
    assert sentence in refused.err
    assert "plum" not in refused.err


def test_users_of_the_first_hour_log_in(klamm: Klamm, tmp_path: Path) -> None:
    settings = {
        "log.dirs": str(tmp_path / "data"),
        "listeners": f"SASL_PLAINTEXT://127.0.0.1:{free_port()}",
        "inter.broker.listener.name": "SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
    }
    file = tmp_path / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    users = (
        "SCRAM-SHA-256=[name=ann,password=pear]",
        'SCRAM-SHA-512=[name="bob,by",iterations=8192,password="an \\"apple\\", a fig"]',
    )
    formatted = klamm(
        *("storage", "format", "-t", CLUSTER, "-c", str(file)),
        *(part for user in users for part in ("-S", user)),
    )
    assert formatted.code == 0, formatted.err

    with RunningNode(tmp_path / "data", settings) as node:
        for mechanism, user, password in (
            (SHA_256, "ann", "pear"),
            (SHA_512, "bob,by", 'an "apple", a fig'),
        ):
            with WireClient(node.address) as client:
                sasl = ScramClient(mechanism, user, password, SystemRandom())
                assert log_in(client, sasl).error_code == 0
