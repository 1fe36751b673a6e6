"""AlterUserScramCredentials (51), v0: passwords of users for SCRAM, as salted hashes."""

from __future__ import annotations

from klamm.base.errors import ApiError
from klamm.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from klamm.server.authorization.rights import ALTER_CLUSTER
from klamm.server.call import Call
from klamm.server.heavy.portions import refuse_too_many


async def handle(
    request: AlterUserScramCredentialsRequest, call: Call
) -> AlterUserScramCredentialsResponse:
    call.require(ALTER_CLUSTER)
    refuse_too_many(len(request.deletions) + len(request.upsertions))
    answer: AlterUserScramCredentialsResponse = await call.forward(request)
    return answer


def fail(
    request: AlterUserScramCredentialsRequest, error: ApiError, version: int
) -> AlterUserScramCredentialsResponse:
    users = dict.fromkeys(
        [each.name for each in request.deletions] + [each.name for each in request.upsertions]
    )
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(
                user=user, error_code=error.code, error_message=error.message
            )
            for user in users
        ]
    )
