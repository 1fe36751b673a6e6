"""ApiVersions (18), v0-4: which APIs and versions are served here, and the cluster's features (KIP-584).

A version that we do not know is answered in version 0 with UNSUPPORTED_VERSION and the versions we do know (KIP-511).
v3  flexible; the client tells its software name and version
v4  features whose lowest level is 0 are listed
"""

from __future__ import annotations

import re

from klamm.base.errors import ErrorCode
from klamm.metadata.features import KRAFT_VERSION, SUPPORTED
from klamm.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from klamm.server.call import Call

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_FIRST_WITH_ZERO_LEVELS = 4


def handle(request: ApiVersionsRequest, call: Call) -> ApiVersionsResponse:
    if call.version >= 3:
        names = (request.client_software_name, request.client_software_version)
        if not all(map(_SOFTWARE.fullmatch, names)):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    image = call.context.image
    levels_now = {**image.features, KRAFT_VERSION: call.context.quorum.kraft_version}
    return ApiVersionsResponse(
        api_keys=[
            ApiVersion(
                api_key=api.key,
                min_version=api.advertised_lowest,
                max_version=api.advertised_highest,
            )
            for api in call.context.apis.values()
        ],
        supported_features=[
            SupportedFeatureKey(name=name, min_version=levels.lowest, max_version=levels.highest)
            for name, levels in SUPPORTED.items()
            if levels.lowest > 0 or call.version >= _FIRST_WITH_ZERO_LEVELS
        ],
        finalized_features_epoch=image.offset,
        finalized_features=[
            FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in levels_now.items()
            if level > 0
        ],
    )


def unsupported_version(call: Call) -> ApiVersionsResponse:
    own = call.api
    return ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        api_keys=[
            ApiVersion(
                api_key=own.key,
                min_version=own.advertised_lowest,
                max_version=own.advertised_highest,
            )
        ],
    )
