"""PLAIN (RFC 4616): a name and a password in clear, so only ever over TLS or on one machine."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping

from klamm.base.clock import Ms
from klamm.base.principal import KafkaPrincipal
from klamm.security.sasl.exchange import USER, LoginRefused

# Whether the password is the user's.
CheckPassword = Callable[[str, str], bool]


def users_of(options: Mapping[str, str]) -> dict[str, str]:
    """Names and passwords of Kafka's PlainLoginModule: its options `user_<name>="<password>"`."""
    prefix = "user_"
    return {
        key.removeprefix(prefix): value for key, value in options.items() if key.startswith(prefix)
    }


def checks_against(users: Mapping[str, str]) -> CheckPassword:
    def check(user: str, password: str) -> bool:
        expected = users.get(user)
        # Who is not known takes as long as who is.
        is_right = hmac.compare_digest((expected or "").encode(), password.encode())
        return is_right and expected is not None

    return check


class PlainServer:
    expires_at: Ms | None = None

    def __init__(self, check: CheckPassword, *, is_slow: bool = False) -> None:
        self._check = check
        self.is_slow = is_slow
        self.is_done = False
        self.principal = KafkaPrincipal(USER, "")

    def step(self, token: bytes) -> bytes:
        authorization, user, password = _parts(token)
        if not user:
            raise _refused("username not specified")
        if not password:
            raise _refused("password not specified")
        if not self._check(user, password):
            raise _refused("Invalid username or password", user)
        if authorization and authorization != user:
            raise _refused(
                "Client requested an authorization id that is different from username", user
            )
        self.principal = KafkaPrincipal(USER, user)
        self.is_done = True
        return b""


class PlainClient:
    mechanism = "PLAIN"

    def __init__(self, user: str, password: str) -> None:
        self._user = user
        self._password = password

    def first(self) -> bytes:
        return f"\0{self._user}\0{self._password}".encode()

    def step(self, challenge: bytes) -> bytes | None:
        return None


def _parts(token: bytes) -> tuple[str, str, str]:
    try:
        authorization, user, password = token.decode().split("\0")
    except UnicodeDecodeError:
        raise LoginRefused("its PLAIN message is not UTF-8") from None
    except ValueError:
        raise LoginRefused("its PLAIN message has not three parts") from None
    return authorization, user, password


def _refused(reason: str, user: str = "") -> LoginRefused:
    told = f"Authentication failed: {reason}"
    return LoginRefused(f"{told}: user={user!r}" if user else told, told)
