"""What AlterClientQuotas may set, for whom, and to which values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from ipaddress import ip_address

from klamm.base.errors import ApiError, ErrorCode
from klamm.controller.decision import Context, Decision
from klamm.metadata.image import QuotaEntity, QuotaPart
from klamm.metadata.records.configs import ClientQuotaRecord
from klamm.metadata.records.configs import EntityData as RecordEntity
from klamm.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
    EntityData,
    OpData,
)

_LONG_MAX = float((1 << 63) - 1)
_INT_MAX = float((1 << 31) - 1)
# The largest value of those that are whole numbers, and its type as Kafka calls it.
_WHOLE = {
    "producer_byte_rate": (_LONG_MAX, "LONG"),
    "consumer_byte_rate": (_LONG_MAX, "LONG"),
    "connection_creation_rate": (_INT_MAX, "INT"),
}
_OF_CLIENTS = frozenset(
    {"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"}
)
_OF_ADDRESSES = frozenset({"connection_creation_rate"})
_TYPES = ("user", "client-id", "ip")


def alter(
    context: Context, request: AlterClientQuotasRequest
) -> Decision[AlterClientQuotasResponse]:
    entities = [_entity(entry.entity) for entry in request.entries]
    times = Counter(entities)
    results: dict[QuotaEntity, AlterClientQuotasResponseEntryData] = {}
    records: list[object] = []
    for entity, entry in zip(entities, request.entries, strict=True):
        error: ApiError | None = None
        try:
            if (
                times[entity] > 1
                or max(Counter(op.key for op in entry.ops).values(), default=1) > 1
            ):
                raise _invalid(f"Ignoring duplicate entity {_shown(entity)}")
            changes = _checked(context, entity, entry)
            if not request.validate_only:
                records += changes
        except ApiError as e:
            error = e
        results[entity] = AlterClientQuotasResponseEntryData(
            error_code=error.code if error is not None else 0,
            error_message=error.message if error is not None else None,
            entity=[
                EntityData(entity_type=each.entity_type, entity_name=each.entity_name)
                for each in entity
            ],
        )
    return Decision(AlterClientQuotasResponse(entries=list(results.values())), records)


def _entity(parts: Sequence[EntityData]) -> QuotaEntity:
    """A type that is named twice counts as it was named last."""
    named = {each.entity_type: each.entity_name for each in parts}
    return tuple(QuotaPart(kind, named[kind]) for kind in sorted(named))


def _checked(
    context: Context, entity: QuotaEntity, entry: AlterClientQuotasRequestEntryData
) -> list[object]:
    allowed = _keys_of(entity)
    before = context.image.client_quotas.get(entity, {})
    records: list[object] = []
    for op in entry.ops:
        if op.remove:
            if op.key in before:
                records.append(_record(entity, op.key, 0.0, remove=True))
            continue
        _check_value(op, allowed)
        if before.get(op.key) != op.value:
            records.append(_record(entity, op.key, op.value))
    return records


def _keys_of(entity: QuotaEntity) -> frozenset[str]:
    if not entity:
        raise _invalid("Invalid empty client quota entity")
    for part in entity:
        if part.entity_type not in _TYPES:
            raise _invalid(f"Unhandled client quota entity type: {part.entity_type}")
        if part.entity_name == "":
            raise _invalid(f"Empty {part.entity_type} not supported")
    named = {part.entity_type: part.entity_name for part in entity}
    if "ip" not in named:
        return _OF_CLIENTS
    if len(named) > 1:
        raise _invalid(
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
        )
    # Deviation: Kafka also takes a host's name, if it can be resolved at that moment.
    if named["ip"] is not None and not _is_address(named["ip"]):
        raise _invalid(f"{named['ip']} is not a valid IP or resolvable host.")
    return _OF_ADDRESSES


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _check_value(op: OpData, allowed: frozenset[str]) -> None:
    if op.key not in allowed:
        raise _invalid(f"Invalid configuration key {op.key}")
    # Deviation: Kafka takes what is no number at all for a quota.
    if not op.value > 0:
        raise _invalid(f"Quota {op.key} must be greater than 0")
    if op.key in _WHOLE:
        most, kind = _WHOLE[op.key]
        if op.value > most:
            raise _invalid(f"Proposed value for {op.key} is too large for a {kind}.")
        if op.value != int(op.value):
            raise _invalid(f"{op.key} cannot be a fractional value.")


def _invalid(sentence: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, sentence)


def _shown(entity: QuotaEntity) -> str:
    parts = ", ".join(f"{part.entity_type}={part.entity_name}" for part in entity)
    return f"ClientQuotaEntity(entries={{{parts}}})"


def _record(
    entity: QuotaEntity, key: str, value: float, *, remove: bool = False
) -> ClientQuotaRecord:
    return ClientQuotaRecord(
        entity=[
            RecordEntity(entity_type=each.entity_type, entity_name=each.entity_name)
            for each in entity
        ],
        key=key,
        value=value,
        remove=remove,
    )
