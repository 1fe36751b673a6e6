"""DescribeClientQuotas (48), v0-1: the quotas of those that the filter names."""

from __future__ import annotations

from enum import IntEnum

from klamm.base.errors import ApiError, ErrorCode
from klamm.metadata.image import QuotaEntity
from klamm.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from klamm.quota.entities import CLIENT_ID, IP, USER
from klamm.server.authorization.rights import DESCRIBE_CLUSTER_CONFIGS
from klamm.server.call import Call


class Match(IntEnum):
    EXACT = 0
    DEFAULT = 1
    # Any name, the default among them.
    SPECIFIED = 2


def handle(request: DescribeClientQuotasRequest, call: Call) -> DescribeClientQuotasResponse:
    call.require(DESCRIBE_CLUSTER_CONFIGS)
    _check(request.components)
    return DescribeClientQuotasResponse(
        entries=[
            EntryData(
                entity=[
                    EntityData(entity_type=part.entity_type, entity_name=part.entity_name)
                    for part in entity
                ],
                values=[ValueData(key=key, value=values[key]) for key in sorted(values)],
            )
            for entity, values in call.context.image.client_quotas.items()
            if _matches(entity, request)
        ]
    )


def fail(
    request: DescribeClientQuotasRequest, error: ApiError, version: int
) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(
        error_code=error.code, error_message=error.message, entries=None
    )


def _check(components: list[ComponentData]) -> None:
    seen: set[str] = set()
    for each in components:
        kind = each.entity_type
        if not kind:
            raise _invalid("Invalid empty entity type.")
        if kind in seen:
            raise _invalid(f"Entity type {kind} cannot appear more than once in the filter.")
        seen.add(kind)
        if kind not in (USER, CLIENT_ID, IP):
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        if each.match_type not in list(Match):
            raise _invalid(f"Unknown match type {each.match_type}")
        if each.match_type == Match.EXACT:
            if each.match is None:
                raise _invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
        elif each.match is not None:
            name = Match(each.match_type).name
            raise _invalid(
                f"Request specified MATCH_TYPE_{name}, but also specified a match string."
            )
    if IP in seen and len(seen) > 1:
        raise _invalid(
            "Invalid entity filter component combination. IP filter component should not be used "
            "with user or clientId filter component."
        )


def _matches(entity: QuotaEntity, request: DescribeClientQuotasRequest) -> bool:
    if request.strict and len(entity) != len(request.components):
        return False
    named = {part.entity_type: part.entity_name for part in entity}
    return all(
        each.entity_type in named
        and (each.match_type == Match.SPECIFIED or named[each.entity_type] == each.match)
        for each in request.components
    )


def _invalid(sentence: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, sentence)
