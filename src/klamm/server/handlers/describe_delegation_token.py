"""DescribeDelegationToken (41), v1-3: the tokens that the caller owns or may renew, with their HMACs."""

from __future__ import annotations

from klamm.base.errors import ApiError, ErrorCode
from klamm.metadata.image import DelegationTokenImage
from klamm.protocol.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from klamm.security.delegation_token import parse_principal, token_hmac
from klamm.server.authorization.rights import DESCRIBE_TOKEN, DESCRIBE_TOKENS
from klamm.server.call import Call
from klamm.server.login.token_requests import check_may_ask


def handle(request: DescribeDelegationTokenRequest, call: Call) -> DescribeDelegationTokenResponse:
    check_may_ask(call)
    secret = call.context.settings.value("delegation.token.secret.key")
    if not secret:
        raise ApiError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    owners = None
    if request.owners is not None:
        owners = {f"{each.principal_type}:{each.principal_name}" for each in request.owners}
    return DescribeDelegationTokenResponse(
        tokens=[
            _described(token_id, token, token_hmac(str(secret), token_id))
            for token_id, token in call.context.image.delegation_tokens.items()
            if (owners is None or not owners.isdisjoint((token.owner, *token.renewers)))
            and _may_see(call, token_id, token)
        ]
    )


def _may_see(call: Call, token_id: str, token: DelegationTokenImage) -> bool:
    """Whose it is; and where somebody decides such things, who may see this one, or all of its owner's."""
    # Deviation: without an authorizer Kafka shows everybody all tokens, and with them what logs in as their owners.
    if str(call.principal) in (token.owner, token.requester, *token.renewers):
        return True
    return call.context.authorization is not None and (
        call.may(DESCRIBE_TOKEN, token_id, quietly=True)
        or call.may(DESCRIBE_TOKENS, token.owner, quietly=True)
    )


def _described(token_id: str, token: DelegationTokenImage, mac: bytes) -> DescribedDelegationToken:
    owner, requester = parse_principal(token.owner), parse_principal(token.requester)
    return DescribedDelegationToken(
        principal_type=owner.type,
        principal_name=owner.name,
        token_requester_principal_type=requester.type,
        token_requester_principal_name=requester.name,
        issue_timestamp=token.issue_timestamp,
        expiry_timestamp=token.expiration_timestamp,
        max_timestamp=token.max_timestamp,
        token_id=token_id,
        hmac=mac,
        renewers=[
            DescribedDelegationTokenRenewer(principal_type=each.type, principal_name=each.name)
            for each in map(parse_principal, token.renewers)
        ],
    )
