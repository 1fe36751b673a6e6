from klamm.base.errors import ErrorCode
from klamm.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from server.handlers.test_create_delegation_token import create
from server.wire_client import WireClient


def test_a_renewer_gives_it_more_time(admin: WireClient, ann: WireClient) -> None:
    token = create(admin, "ann", max_lifetime_ms=3_600_000)

    answer = ann.ask(RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=7_200_000))

    assert (answer.error_code, answer.expiry_timestamp_ms) == (0, token.max_timestamp_ms)


def test_nobody_else_does(admin: WireClient, ann: WireClient) -> None:
    token = create(admin)

    answer = ann.ask(RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=1000))

    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH


def test_a_token_that_never_was_is_not_found(admin: WireClient) -> None:
    answer = admin.ask(RenewDelegationTokenRequest(hmac=b"nothing", renew_period_ms=1000))

    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND
