"""ApiVersions, API 18."""

from klamm.protocol.declare import Array, Bool, Int16, Int32, Int64, String, field, message, struct


@message(api_key=18, versions="0-4", flexible="3+")
class ApiVersionsRequest:
    """The first request of most connections: which APIs and versions does the broker serve?"""

    client_software_name: String = field(since=3, default="")
    client_software_version: String = field(since=3, default="")


@struct
class ApiVersion:
    api_key: Int16 = 0
    min_version: Int16 = 0
    max_version: Int16 = 0


@struct
class SupportedFeatureKey:
    name: String = ""
    min_version: Int16 = 0
    max_version: Int16 = 0


@struct
class FinalizedFeatureKey:
    name: String = ""
    max_version_level: Int16 = 0
    min_version_level: Int16 = 0


@message(api_key=18, versions="0-4", flexible="3+")
class ApiVersionsResponse:
    """The served APIs with their versions, and the cluster's feature levels."""

    error_code: Int16 = 0
    api_keys: Array[ApiVersion] = []
    throttle_time_ms: Int32 = field(since=1, default=0)
    supported_features: Array[SupportedFeatureKey] = field(since=3, tag=0, default=[])
    finalized_features_epoch: Int64 = field(since=3, tag=1, default=-1)
    finalized_features: Array[FinalizedFeatureKey] = field(since=3, tag=2, default=[])
    zk_migration_ready: Bool = field(since=3, tag=3, default=False)
