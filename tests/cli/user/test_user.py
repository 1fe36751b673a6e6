"""klamm user create, list and delete."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient

from cli.commands import Klamm


def rows(ask: Klamm, user: str) -> list[dict[str, object]]:
    return [row for row in ask("user", "list").rows if row["user"] == user]


def test_a_user_comes_and_goes(ask: Klamm, new_name: str) -> None:
    created = ask("user", "create", new_name, "--password", "pear", "-m", "scram-sha-512")

    assert created.code == 0, created.err
    listed = [{"user": new_name, "mechanism": "SCRAM-SHA-512", "iterations": 4096}]
    assert created.rows == listed
    assert rows(ask, new_name) == listed
    assert ask("user", "delete", new_name, "-m", "SCRAM-SHA-512").code == 0
    assert rows(ask, new_name) == []


def test_a_password_comes_from_stdin(ask: Klamm, broker: str, new_name: str) -> None:
    created = ask("user", "create", new_name, "--iterations", "5000", stdin=b"pear\n")

    assert created.code == 0, created.err
    admin = AdminClient({"bootstrap.servers": broker})
    described = admin.describe_user_scram_credentials([new_name])
    (info,) = described[new_name].result(20).scram_credential_infos
    assert info.iterations == 5000


def test_what_is_wrong_is_said(ask: Klamm, new_name: str) -> None:
    assert "RESOURCE_NOT_FOUND" in ask("user", "delete", new_name).err
    assert "no mechanism" in ask("user", "delete", new_name, "-m", "MD5").err
    assert "1 to 1024 bytes" in ask("user", "create", new_name, stdin=b"\n").err
    assert "RESOURCE_NOT_FOUND" in ask("user", "delete", new_name).err
