"""Credentials of users for SCRAM: what AlterUserScramCredentials may change."""

from __future__ import annotations

from collections import Counter

from klamm.base.errors import ApiError, ErrorCode
from klamm.controller.decision import Context, Decision
from klamm.metadata.image import ScramKey
from klamm.metadata.records.security import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from klamm.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from klamm.security.sasl.scram import BY_NUMBER, ScramMechanism, credential_of

Change = ScramCredentialDeletion | ScramCredentialUpsertion


def alter(
    context: Context, request: AlterUserScramCredentialsRequest
) -> Decision[AlterUserScramCredentialsResponse]:
    """Each user once: two credentials of one need two requests."""
    changes: list[Change] = [*request.deletions, *request.upsertions]
    times = Counter(each.name for each in changes)
    results: dict[str, AlterUserScramCredentialsResult] = {}
    records: list[object] = []
    for each in changes:
        try:
            if times[each.name] > 1:
                raise ApiError(
                    ErrorCode.DUPLICATE_RESOURCE,
                    "A user credential cannot be altered twice in the same request",
                )
            if isinstance(each, ScramCredentialDeletion):
                records.append(_deletion(context, each))
            else:
                records.append(_upsertion(each))
        except ApiError as e:
            results[each.name] = _result(each.name, e)
        else:
            results[each.name] = _result(each.name, None)
    return Decision(AlterUserScramCredentialsResponse(results=[*results.values()]), records)


def _result(user: str, error: ApiError | None) -> AlterUserScramCredentialsResult:
    if error is None:
        return AlterUserScramCredentialsResult(user=user, error_message=None)
    return AlterUserScramCredentialsResult(
        user=user, error_code=error.code, error_message=error.message
    )


def _mechanism(name: str, number: int) -> ScramMechanism:
    if not name:
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if number not in BY_NUMBER:
        raise ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    return BY_NUMBER[number]


def _deletion(
    context: Context, deletion: ScramCredentialDeletion
) -> RemoveUserScramCredentialRecord:
    mechanism = _mechanism(deletion.name, deletion.mechanism)
    if ScramKey(mechanism.number, deletion.name) not in context.image.scram:
        raise ApiError(
            ErrorCode.RESOURCE_NOT_FOUND,
            "Attempt to delete a user credential that does not exist",
        )
    return RemoveUserScramCredentialRecord(name=deletion.name, mechanism=mechanism.number)


def _upsertion(upsertion: ScramCredentialUpsertion) -> UserScramCredentialRecord:
    mechanism = _mechanism(upsertion.name, upsertion.mechanism)
    if upsertion.iterations < mechanism.min_iterations:
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if upsertion.iterations > mechanism.max_iterations:
        raise ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    salt = bytes(upsertion.salt)
    credential = credential_of(
        mechanism, bytes(upsertion.salted_password), salt, upsertion.iterations
    )
    return UserScramCredentialRecord(
        name=upsertion.name,
        mechanism=mechanism.number,
        salt=salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )
