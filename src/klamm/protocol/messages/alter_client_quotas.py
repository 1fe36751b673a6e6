"""AlterClientQuotas, API 49."""

from klamm.protocol.declare import (
    Array,
    Bool,
    Float64,
    Int16,
    Int32,
    NullableString,
    String,
    message,
    struct,
)


@struct
class EntityData:
    entity_type: String = ""
    entity_name: NullableString = ""


@struct
class OpData:
    key: String = ""
    value: Float64 = 0.0
    remove: Bool = False


@struct
class AlterClientQuotasRequestEntryData:
    entity: Array[EntityData] = []
    ops: Array[OpData] = []


@message(api_key=49, versions="0-1", flexible="1+")
class AlterClientQuotasRequest:
    """Set or remove quotas of users, clients and addresses."""

    entries: Array[AlterClientQuotasRequestEntryData] = []
    validate_only: Bool = False


@struct
class AlterClientQuotasResponseEntryData:
    error_code: Int16 = 0
    error_message: NullableString = ""
    entity: Array[EntityData] = []


@message(api_key=49, versions="0-1", flexible="1+")
class AlterClientQuotasResponse:
    """The outcome for each entity."""

    throttle_time_ms: Int32 = 0
    entries: Array[AlterClientQuotasResponseEntryData] = []
