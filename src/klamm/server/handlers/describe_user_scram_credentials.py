"""DescribeUserScramCredentials (50), v0: who can log in by SCRAM, with which mechanisms. Never the credentials."""

from __future__ import annotations

from collections import Counter

from klamm.base.errors import ApiError, ErrorCode
from klamm.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from klamm.server.authorization.rights import DESCRIBE_CLUSTER
from klamm.server.call import Call


def handle(
    request: DescribeUserScramCredentialsRequest, call: Call
) -> DescribeUserScramCredentialsResponse:
    call.require(DESCRIBE_CLUSTER)
    known: dict[str, list[CredentialInfo]] = {}
    for key, credential in call.context.image.scram.items():
        known.setdefault(key.user, []).append(
            CredentialInfo(mechanism=key.mechanism, iterations=credential.iterations)
        )
    times = Counter(each.name for each in request.users or ())
    return DescribeUserScramCredentialsResponse(
        error_message=None,
        results=[_describe(user, known, times[user]) for user in times or sorted(known)],
    )


def _describe(
    user: str, known: dict[str, list[CredentialInfo]], times: int
) -> DescribeUserScramCredentialsResult:
    if times > 1:
        return DescribeUserScramCredentialsResult(
            user=user,
            error_code=ErrorCode.DUPLICATE_RESOURCE,
            error_message=f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}",
        )
    if user not in known:
        return DescribeUserScramCredentialsResult(
            user=user,
            error_code=ErrorCode.RESOURCE_NOT_FOUND,
            error_message=f"Attempt to describe a user credential that does not exist: {user}",
        )
    infos = sorted(known[user], key=lambda each: each.mechanism)
    return DescribeUserScramCredentialsResult(user=user, error_message=None, credential_infos=infos)


def fail(
    request: DescribeUserScramCredentialsRequest, error: ApiError, version: int
) -> DescribeUserScramCredentialsResponse:
    return DescribeUserScramCredentialsResponse(
        error_code=error.code,
        error_message=error.message,
        results=[
            DescribeUserScramCredentialsResult(error_code=error.code, error_message=error.message)
            for _ in request.users or ()
        ],
    )
