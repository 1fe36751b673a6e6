"""UpdateFeatures, API 57."""

from klamm.protocol.declare import (
    Array,
    Bool,
    Int8,
    Int16,
    Int32,
    NullableString,
    String,
    field,
    message,
    struct,
)


@struct
class FeatureUpdateKey:
    feature: String = ""
    max_version_level: Int16 = 0
    allow_downgrade: Bool = field(until=0, default=False)
    upgrade_type: Int8 = field(since=1, default=1)


@message(api_key=57, versions="0-2", flexible="0+")
class UpdateFeaturesRequest:
    """Raise or lower the cluster's feature levels, or only check whether that is possible."""

    timeout_ms: Int32 = 60_000
    feature_updates: Array[FeatureUpdateKey] = []
    validate_only: Bool = field(since=1, default=False)


@struct
class UpdatableFeatureResult:
    feature: String = ""
    error_code: Int16 = 0
    error_message: NullableString = ""


@message(api_key=57, versions="0-2", flexible="0+")
class UpdateFeaturesResponse:
    """The outcome for each feature."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: NullableString = ""
    results: Array[UpdatableFeatureResult] = field(until=1, default=[])
