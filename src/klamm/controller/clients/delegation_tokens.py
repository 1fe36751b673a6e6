"""Delegation tokens (KIP-48): made, renewed, ended by their owners and renewers, and swept away when they have expired."""

from __future__ import annotations

import hmac

from klamm.base.chance import random_uuid
from klamm.base.clock import Ms
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.principal import KafkaPrincipal
from klamm.controller.decision import Context, Decision
from klamm.metadata.image import ClusterImage, DelegationTokenImage
from klamm.metadata.records.security import DelegationTokenRecord, RemoveDelegationTokenRecord
from klamm.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from klamm.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from klamm.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from klamm.security.delegation_token import token_hmac

_USER = "User"


def create(
    context: Context, request: CreateDelegationTokenRequest, requester: KafkaPrincipal
) -> Decision[CreateDelegationTokenResponse]:
    secret = _secret(context)
    if any(each.principal_type != _USER for each in request.renewers):
        raise ApiError(ErrorCode.INVALID_PRINCIPAL_TYPE)
    owner = requester
    if request.owner_principal_name:
        owner = KafkaPrincipal(request.owner_principal_type or _USER, request.owner_principal_name)
    now = context.now.wall
    life = _shortest(_setting(context, "max.lifetime.ms"), request.max_lifetime_ms)
    ends = min(now + life, now + _setting(context, "expiry.time.ms"))
    token_id = str(random_uuid(context.chance))
    record = DelegationTokenRecord(
        owner=str(owner),
        requester=str(requester),
        renewers=[f"{each.principal_type}:{each.principal_name}" for each in request.renewers],
        issue_timestamp=now,
        max_timestamp=now + life,
        expiration_timestamp=ends,
        token_id=token_id,
    )
    reply = CreateDelegationTokenResponse(
        principal_type=owner.type,
        principal_name=owner.name,
        token_requester_principal_type=requester.type,
        token_requester_principal_name=requester.name,
        issue_timestamp_ms=now,
        expiry_timestamp_ms=ends,
        max_timestamp_ms=now + life,
        token_id=token_id,
        hmac=token_hmac(secret, token_id),
    )
    return Decision(reply, [record])


def renew(
    context: Context, request: RenewDelegationTokenRequest, requester: KafkaPrincipal
) -> Decision[RenewDelegationTokenResponse]:
    token_id, token = _found(context, bytes(request.hmac), requester)
    _check_lives(token, context.now.wall)
    more = _shortest(_setting(context, "expiry.time.ms"), request.renew_period_ms)
    ends = min(token.max_timestamp, context.now.wall + more)
    return Decision(
        RenewDelegationTokenResponse(expiry_timestamp_ms=ends), [_record(token_id, token, ends)]
    )


def expire(
    context: Context, request: ExpireDelegationTokenRequest, requester: KafkaPrincipal
) -> Decision[ExpireDelegationTokenResponse]:
    """A negative period ends it at once."""
    token_id, token = _found(context, bytes(request.hmac), requester)
    now = context.now.wall
    if request.expiry_time_period_ms < 0:
        return Decision(
            ExpireDelegationTokenResponse(expiry_timestamp_ms=now),
            [RemoveDelegationTokenRecord(token_id=token_id)],
        )
    _check_lives(token, now)
    ends = min(token.max_timestamp, now + request.expiry_time_period_ms)
    return Decision(
        ExpireDelegationTokenResponse(expiry_timestamp_ms=ends), [_record(token_id, token, ends)]
    )


def sweep(image: ClusterImage, now: Ms) -> list[object]:
    """The end of those that have expired."""
    return [
        RemoveDelegationTokenRecord(token_id=token_id)
        for token_id, token in image.delegation_tokens.items()
        if _has_expired(token, now)
    ]


def _secret(context: Context) -> str:
    secret = context.settings.value("delegation.token.secret.key")
    if not secret:
        raise ApiError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    return str(secret)


def _setting(context: Context, name: str) -> Ms:
    value = context.settings.value(f"delegation.token.{name}")
    assert isinstance(value, int)
    return value


def _shortest(most: Ms, asked: Ms) -> Ms:
    """Nothing or less than that asks for as much as there is."""
    return min(most, asked) if asked > 0 else most


def _found(
    context: Context, mac: bytes, requester: KafkaPrincipal
) -> tuple[str, DelegationTokenImage]:
    secret = _secret(context)
    for token_id, token in context.image.delegation_tokens.items():
        if hmac.compare_digest(token_hmac(secret, token_id), mac):
            if str(requester) not in (token.owner, *token.renewers):
                raise ApiError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)
            return token_id, token
    raise ApiError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)


def _has_expired(token: DelegationTokenImage, now: Ms) -> bool:
    return token.max_timestamp < now or token.expiration_timestamp < now


def _check_lives(token: DelegationTokenImage, now: Ms) -> None:
    if _has_expired(token, now):
        raise ApiError(ErrorCode.DELEGATION_TOKEN_EXPIRED)


def _record(token_id: str, token: DelegationTokenImage, ends: Ms) -> DelegationTokenRecord:
    return DelegationTokenRecord(
        owner=token.owner,
        requester=token.requester,
        renewers=list(token.renewers),
        issue_timestamp=token.issue_timestamp,
        max_timestamp=token.max_timestamp,
        expiration_timestamp=ends,
        token_id=token_id,
    )
