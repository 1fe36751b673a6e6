"""SaslAuthenticate where nobody is asked for a name; tests/server/login has the others."""

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from server.wire_client import WireClient


def test_where_nobody_logs_in_a_token_is_refused(client: WireClient) -> None:
    answer = client.ask(SaslAuthenticateRequest(auth_bytes=b"\0ann\0pear"))

    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
