import pytest

from klamm.security.sasl.exchange import LoginRefused
from klamm.security.sasl.plain import PlainClient, PlainServer, checks_against, users_of

USERS = users_of({"username": "admin", "password": "p", "user_ann": "pear", "user_bob": "café"})


@pytest.mark.parametrize(("user", "password"), [("ann", "pear"), ("bob", "café")])
def test_the_right_password_names_the_user(user: str, password: str) -> None:
    server = PlainServer(checks_against(USERS))

    assert server.step(PlainClient(user, password).first()) == b""
    assert str(server.principal) == f"User:{user}"


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (b"\0ann\0apple", "Authentication failed: Invalid username or password"),
        (b"\0eve\0pear", "Authentication failed: Invalid username or password"),
        (b"\0\0pear", "Authentication failed: username not specified"),
        (b"\0ann\0", "Authentication failed: password not specified"),
        (
            b"bob\0ann\0pear",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
        (b"ann pear", None),
        (b"\0ann\0pear\0", None),
        (b"\0ann\0\xff", None),
    ],
)
def test_anything_else_is_refused_as_kafka_does(token: bytes, told: str | None) -> None:
    server = PlainServer(checks_against(USERS))

    with pytest.raises(LoginRefused) as refused:
        server.step(token)

    assert refused.value.told == told
    assert not server.is_done
    assert "apple" not in str(refused.value)
