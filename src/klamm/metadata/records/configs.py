"""Dynamic settings, quotas and feature levels."""

from klamm.protocol.declare import (
    Array,
    Bool,
    Float64,
    Int8,
    Int16,
    NullableString,
    String,
    message,
    struct,
)


@message(api_key=4, versions="0", flexible="0+")
class ConfigRecord:
    """One dynamic setting of one resource; a null value removes it."""

    resource_type: Int8 = 0
    resource_name: String = ""
    name: String = ""
    value: NullableString = ""


@struct
class EntityData:
    entity_type: String = ""
    entity_name: NullableString = ""


@message(api_key=14, versions="0", flexible="0+")
class ClientQuotaRecord:
    """One quota of one entity, set or removed."""

    entity: Array[EntityData] = []
    key: String = ""
    value: Float64 = 0.0
    remove: Bool = False


@message(api_key=12, versions="0", flexible="0+")
class FeatureLevelRecord:
    """The level of one feature, the metadata version among them."""

    name: String = ""
    feature_level: Int16 = 0
