from klamm.base.errors import ErrorCode
from klamm.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from server.handlers.test_create_delegation_token import create
from server.wire_client import WireClient


def test_a_token_can_end_at_once(admin: WireClient) -> None:
    token = create(admin)
    request = ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=-1)

    assert admin.ask(request).error_code == 0
    assert admin.ask(request).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_a_token_can_end_sooner(admin: WireClient) -> None:
    token = create(admin)

    answer = admin.ask(ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=60_000))

    assert answer.error_code == 0
    assert answer.expiry_timestamp_ms < token.expiry_timestamp_ms
