"""UpdateFeatures (57), v0-2: raise or lower the levels of the cluster's features (KIP-584).

The controller decides; the answer waits until its records are committed.
"""

from __future__ import annotations

from klamm.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
from klamm.server.authorization.rights import ALTER_CLUSTER
from klamm.server.call import Call


async def handle(request: UpdateFeaturesRequest, call: Call) -> UpdateFeaturesResponse:
    call.require(ALTER_CLUSTER)
    answer: UpdateFeaturesResponse = await call.forward(request)
    return answer
