"""DescribeClientQuotas, API 48."""

from klamm.protocol.declare import (
    Array,
    Bool,
    Float64,
    Int8,
    Int16,
    Int32,
    NullableArray,
    NullableString,
    String,
    message,
    struct,
)


@struct
class ComponentData:
    entity_type: String = ""
    match_type: Int8 = 0
    match: NullableString = ""


@message(api_key=48, versions="0-1", flexible="1+")
class DescribeClientQuotasRequest:
    """Ask for the quotas of users, clients and addresses."""

    components: Array[ComponentData] = []
    strict: Bool = False


@struct
class EntityData:
    entity_type: String = ""
    entity_name: NullableString = ""


@struct
class ValueData:
    key: String = ""
    value: Float64 = 0.0


@struct
class EntryData:
    entity: Array[EntityData] = []
    values: Array[ValueData] = []


@message(api_key=48, versions="0-1", flexible="1+")
class DescribeClientQuotasResponse:
    """Quotas that match the filter."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""
    entries: NullableArray[EntryData] = []
