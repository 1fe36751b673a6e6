"""UpdateFeatures: raise or lower the levels that all nodes work by.

All updates of a request are made together or not at all. Which levels are possible: those that this node and
every registered broker and controller support.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from klamm.base.errors import ApiError, ErrorCode
from klamm.controller.context import Context
from klamm.controller.decision import Decision
from klamm.metadata.features import METADATA_LEVELS, METADATA_VERSION, SUPPORTED
from klamm.metadata.image import ClusterImage, VersionRange
from klamm.metadata.records.configs import FeatureLevelRecord
from klamm.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

_ABSENT = VersionRange(0, 0)


class UpgradeType(IntEnum):
    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


def update(context: Context, request: UpdateFeaturesRequest) -> Decision[UpdateFeaturesResponse]:
    updates = request.feature_updates
    try:
        records = [_update_one(context.image, each) for each in updates]
    except ApiError as error:
        return Decision(
            UpdateFeaturesResponse(error_code=error.code, error_message=error.message, results=[])
        )
    results = [UpdatableFeatureResult(feature=each.feature, error_message=None) for each in updates]
    reply = UpdateFeaturesResponse(error_message=None, results=results)
    return Decision(reply, () if request.validate_only else records)


def _update_one(image: ClusterImage, update: FeatureUpdateKey) -> FeatureLevelRecord:
    name, level = update.feature, update.max_version_level
    current = image.features.get(name, 0)
    if problem := _problem(image, update, current):
        text = f"Invalid update version {level} for feature {name}. {problem}"
        raise ApiError(ErrorCode.INVALID_UPDATE_VERSION, text)
    if name == METADATA_VERSION and level < current:
        _check_downgrade(level, current, UpgradeType(update.upgrade_type))
    return FeatureLevelRecord(name=name, feature_level=level)


def _problem(image: ClusterImage, update: FeatureUpdateKey, current: int) -> str | None:
    name, level = update.feature, update.max_version_level
    kind = _upgrade_type(update)
    if kind is UpgradeType.UNKNOWN:
        return "The controller does not support the given upgrade type."
    if level < 0:
        return "A feature version cannot be less than 0."
    if reason := _reason_not_supported(image, name, level):
        return reason
    if level < current and kind is UpgradeType.UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to "
            "either safe or unsafe downgrade."
        )
    if level > current and kind is not UpgradeType.UPGRADE:
        return "Can't downgrade to a newer version."
    return None


def _upgrade_type(update: FeatureUpdateKey) -> UpgradeType:
    if update.allow_downgrade:
        return UpgradeType.SAFE_DOWNGRADE
    known = update.upgrade_type in UpgradeType._value2member_map_
    return UpgradeType(update.upgrade_type) if known else UpgradeType.UNKNOWN


def _reason_not_supported(image: ClusterImage, name: str, level: int) -> str | None:
    if reason := _reason_of_node("Local controller", SUPPORTED, name, level):
        return reason
    for broker_id, broker in image.brokers.items():
        if reason := _reason_of_node(f"Broker {broker_id}", broker.features, name, level):
            return reason
    return None


def _reason_of_node(
    node: str, features: Mapping[str, VersionRange], name: str, level: int
) -> str | None:
    supported = features.get(name, _ABSENT)
    if level in supported:
        return None
    if supported == _ABSENT:
        return f"{node} does not support this feature."
    return f"{node} only supports versions {supported}"


def _check_downgrade(level: int, current: int, kind: UpgradeType) -> None:
    """A downgrade of metadata.version over a change of the records would leave some that nobody can read."""
    changed = any(METADATA_LEVELS[each][1] for each in range(level + 1, current + 1))
    if not changed:
        return
    if kind is UpgradeType.UNSAFE_DOWNGRADE:
        why = "Unsafe metadata downgrade is not supported in this version."
    else:
        why = (
            "Refusing to perform the requested downgrade because it might delete metadata "
            "information."
        )
    raise ApiError(ErrorCode.INVALID_UPDATE_VERSION, f"Invalid metadata.version {level}. {why}")
