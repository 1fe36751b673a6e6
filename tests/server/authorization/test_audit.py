"""The audit: a line for each failed login, denied operation and administrative change, and no secrets in it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from klamm.base.acl import AclOperation
from klamm.base.errors import ErrorCode
from klamm.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from klamm.protocol.messages.sasl_handshake import SaslHandshakeRequest
from server.asking import Topic, a_batch, a_fetch, a_produce, partition_of, values_in
from server.authorization.people import SECURED, allow, log_in
from server.running_node import RunningNode
from server.wire_client import WireClient
from support.patience import eventually


def happened(log: Path, *, until: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []

    def look() -> None:
        nonlocal lines
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        assert until(lines), lines

    eventually(look)
    return lines


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def settings(log: Path) -> dict[str, object]:
    return {**SECURED, "klamm.audit.file": log}


def made(admin: WireClient, name: str, **more: Any) -> Topic:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    (answer,) = admin.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000, **more)).topics
    return Topic(name, answer.topic_id)


def test_denials_changes_and_failed_logins_have_a_line_each(
    tmp_path: Path, log: Path, settings: dict[str, object]
) -> None:
    with RunningNode(tmp_path / "data", settings) as node:
        with WireClient(node.address) as client:
            admin = log_in(client, "admin")
            topic = made(admin, "orders")
            made(admin, "not-really", validate_only=True)
            allow(admin, "ann", AclOperation.READ, "orders")
        with WireClient(node.address) as client:
            ann = log_in(client, "ann")
            ann.ask(a_produce(topic, a_batch()))
            made(ann, "mine")
        with WireClient(node.address) as client:
            client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
            client.ask(SaslAuthenticateRequest(auth_bytes=b"\0ann\0a wrong guess"), 2)

    lines = happened(log, until=lambda found: len(found) >= 6)
    facts = [
        (line["event"], line.get("principal"), line.get("api"), line.get("resource"))
        for line in lines
    ]
    assert facts == [
        ("change", "User:admin", "create_topics", None),
        ("change", "User:admin", "create_acls", None),
        ("denied", "User:ann", "produce", "orders"),
        ("denied", "User:ann", "create_topics", "mine"),
        ("change", "User:ann", "create_topics", None),
        ("login-failed", None, None, None),
    ]
    assert lines[0]["resources"] == ["orders"]
    assert lines[1]["resources"] == ["User:ann", "orders"]
    assert lines[4]["errors"] == [ErrorCode.TOPIC_AUTHORIZATION_FAILED.name]
    assert (lines[5]["mechanism"], lines[5]["host"]) == ("PLAIN", "127.0.0.1")
    assert {line["operation"] for line in lines if line["event"] == "denied"} == {"WRITE", "CREATE"}
    assert "guess" not in log.read_text()


def test_secrets_are_left_out(tmp_path: Path, log: Path, settings: dict[str, object]) -> None:
    upsertion = ScramCredentialUpsertion(
        name="carl", mechanism=1, iterations=4096, salt=b"the salt", salted_password=b"the secret"
    )
    with (
        RunningNode(tmp_path / "data", settings) as node,
        WireClient(node.address) as client,
    ):
        log_in(client, "admin").ask(AlterUserScramCredentialsRequest(upsertions=[upsertion]))

        (line,) = happened(log, until=lambda found: len(found) == 1)

    assert line["resources"] == ["carl"]
    assert "salt" not in log.read_text()
    assert "secret" not in log.read_text()


def test_lines_go_to_a_topic_as_well(tmp_path: Path) -> None:
    settings = {**SECURED, "klamm.audit.topic": "audit"}
    with RunningNode(tmp_path, settings) as node, WireClient(node.address) as client:
        admin = log_in(client, "admin")
        topic = made(admin, "audit")
        made(admin, "orders")
        values: list[bytes | None] = []

        def look() -> None:
            nonlocal values
            values = values_in(partition_of(admin.ask(a_fetch(topic))).records)
            assert any(b"orders" in (value or b"") for value in values)

        eventually(look)

    found = [json.loads(value or b"") for value in values]
    assert found[-1]["resources"] == ["orders"]


def test_an_audit_that_cannot_be_kept_keeps_the_node_from_starting(tmp_path: Path) -> None:
    settings = {**SECURED, "klamm.audit.file": tmp_path / "no" / "such" / "directory"}

    with pytest.raises(Exception, match="No such file"):
        RunningNode(tmp_path / "data", settings)
