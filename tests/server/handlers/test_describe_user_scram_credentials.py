"""DescribeUserScramCredentials. Expectations hold for Apache Kafka 4.3.1 as well."""

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from server.handlers.test_alter_user_scram_credentials import SHA_256, SHA_512, alter, upsertion
from server.wire_client import WireClient


def test_a_user_has_its_mechanisms(client: WireClient, new_name: str) -> None:
    alter(client, upsertion(new_name))
    alter(client, upsertion(new_name, mechanism=SHA_512, iterations=8192))

    answer = client.ask(DescribeUserScramCredentialsRequest(users=[UserName(name=new_name)]))

    (user,) = answer.results
    assert (answer.error_code, user.error_code, user.user) == (0, 0, new_name)
    assert sorted((each.mechanism, each.iterations) for each in user.credential_infos) == [
        (SHA_256, 4096),
        (SHA_512, 8192),
    ]


def test_nobody_is_not_found(client: WireClient, new_name: str) -> None:
    answer = client.ask(DescribeUserScramCredentialsRequest(users=[UserName(name=new_name)]))

    (user,) = answer.results
    assert user.error_code == ErrorCode.RESOURCE_NOT_FOUND
    assert user.error_message == (
        f"Attempt to describe a user credential that does not exist: {new_name}"
    )


def test_a_user_is_asked_for_once(client: WireClient, new_name: str) -> None:
    alter(client, upsertion(new_name))

    answer = client.ask(DescribeUserScramCredentialsRequest(users=[UserName(name=new_name)] * 2))

    (user,) = answer.results
    assert user.error_code == ErrorCode.DUPLICATE_RESOURCE
    assert user.error_message == (
        f"Cannot describe SCRAM credentials for the same user twice in a single request: {new_name}"
    )
