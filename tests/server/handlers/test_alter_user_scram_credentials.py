"""AlterUserScramCredentials: what is a credential and what is none. Expectations hold for Apache Kafka 4.3.1 as well."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from server.wire_client import WireClient

SHA_256, SHA_512 = 1, 2


def upsertion(name: str, **facts: Any) -> ScramCredentialUpsertion:
    wanted = {
        "mechanism": SHA_256,
        "iterations": 4096,
        "salt": b"salt",
        "salted_password": b"x" * 32,
    }
    return ScramCredentialUpsertion(name=name, **{**wanted, **facts})


def alter(
    client: WireClient, *changes: ScramCredentialUpsertion | ScramCredentialDeletion
) -> dict[str, tuple[int, str | None]]:
    answer = client.ask(
        AlterUserScramCredentialsRequest(
            deletions=[each for each in changes if isinstance(each, ScramCredentialDeletion)],
            upsertions=[each for each in changes if isinstance(each, ScramCredentialUpsertion)],
        )
    )
    return {each.user: (each.error_code, each.error_message) for each in answer.results}


@pytest.mark.parametrize(
    ("facts", "error", "sentence"),
    [
        ({"iterations": 4095}, ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        ({"iterations": 16_385}, ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
        ({"mechanism": 0}, ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        ({"mechanism": 7}, ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
    ],
)
def test_what_is_no_credential_is_refused(
    client: WireClient, new_name: str, facts: dict[str, Any], error: ErrorCode, sentence: str
) -> None:
    assert alter(client, upsertion(new_name, **facts)) == {new_name: (error, sentence)}


def test_a_user_needs_a_name(client: WireClient) -> None:
    assert alter(client, upsertion("")) == {
        "": (ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    }


def test_nobody_is_not_deleted(client: WireClient, new_name: str) -> None:
    deletion = ScramCredentialDeletion(name=new_name, mechanism=SHA_256)

    assert alter(client, deletion) == {
        new_name: (
            ErrorCode.RESOURCE_NOT_FOUND,
            "Attempt to delete a user credential that does not exist",
        )
    }


@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512])
def test_a_user_is_changed_once(client: WireClient, new_name: str, mechanism: int) -> None:
    other = f"{new_name}-other"

    answer = alter(
        client, upsertion(new_name), upsertion(new_name, mechanism=mechanism), upsertion(other)
    )

    assert answer == {
        new_name: (
            ErrorCode.DUPLICATE_RESOURCE,
            "A user credential cannot be altered twice in the same request",
        ),
        other: (0, None),
    }
