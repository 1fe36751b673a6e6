"""UpdateFeatures: raise or lower the levels that all nodes work by.

All updates of a request are made together or not at all. Which levels are possible: those that this node and
every registered broker and controller support.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from klamm.base.errors import ApiError, ErrorCode
from klamm.controller.decision import Context, Decision
from klamm.metadata.features import (
    ELR_VERSION,
    KRAFT_VERSION,
    METADATA_LEVELS,
    METADATA_VERSION,
    SUPPORTED,
)
from klamm.metadata.image import VersionRange
from klamm.metadata.records.configs import ConfigRecord, FeatureLevelRecord
from klamm.metadata.resource_type import ResourceType
from klamm.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

_ABSENT = VersionRange(0, 0)
_MIN_ISR = "min.insync.replicas"


class UpgradeType(IntEnum):
    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


def update(context: Context, request: UpdateFeaturesRequest) -> Decision[UpdateFeaturesResponse]:
    updates = request.feature_updates
    records: list[object] = []
    try:
        for each in updates:
            records += _update_one(context, each)
    except ApiError as error:
        text = "The update failed for all features since the following feature had an error: "
        reply = UpdateFeaturesResponse(error_code=error.code, error_message=text + error.message)
        return Decision(reply)
    # The word is Kafka's; clients that read these results expect some text.
    results = [
        UpdatableFeatureResult(feature=each.feature, error_message="NONE") for each in updates
    ]
    reply = UpdateFeaturesResponse(error_message=None, results=results)
    return Decision(
        reply,
        () if request.validate_only else records,
        raises_kraft_version=any(
            each.feature == KRAFT_VERSION and each.max_version_level > context.kraft_version
            for each in updates
        ),
        validate_only=request.validate_only,
    )


def _update_one(context: Context, update: FeatureUpdateKey) -> list[object]:
    name, level = update.feature, update.max_version_level
    is_of_quorum = name == KRAFT_VERSION
    current = context.kraft_version if is_of_quorum else context.image.features.get(name, 0)
    if problem := _problem(context, update, current):
        text = f"Invalid update version {level} for feature {name}. {problem}"
        raise ApiError(ErrorCode.INVALID_UPDATE_VERSION, text)
    if name == METADATA_VERSION and level < current:
        _check_downgrade(level, current, _upgrade_type(update))
    record = FeatureLevelRecord(name=name, feature_level=level)
    if name == ELR_VERSION and level > 0 and current == 0:
        return [*_agree_on_min_isr(context), record]
    return [] if is_of_quorum else [record]


def _agree_on_min_isr(context: Context) -> list[ConfigRecord]:
    """With an ELR all brokers must have one min.insync.replicas: the cluster gets it, brokers lose their own."""
    records = []
    for key, configs in context.image.configs.items():
        if key.resource_type == ResourceType.BROKER and key.resource_name and _MIN_ISR in configs:
            records.append(_min_isr(key.resource_name, None))
    if _MIN_ISR not in context.image.config(ResourceType.BROKER, ""):
        value = str(context.settings.topic_defaults.min_insync_replicas)
        records.insert(0, _min_isr("", value))
    return records


def _min_isr(broker: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(
        resource_type=ResourceType.BROKER, resource_name=broker, name=_MIN_ISR, value=value
    )


def _problem(context: Context, update: FeatureUpdateKey, current: int) -> str | None:
    name, level = update.feature, update.max_version_level
    kind = _upgrade_type(update)
    if kind is UpgradeType.UNKNOWN:
        return "The controller does not support the given upgrade type."
    if level < 0:
        return "A feature version cannot be less than 0."
    if reason := _reason_not_supported(context, name, level):
        return reason
    if level < current and kind is UpgradeType.UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to "
            "either safe or unsafe downgrade."
        )
    if level > current and kind is not UpgradeType.UPGRADE:
        return "Can't downgrade to a newer version."
    if level < current and name == KRAFT_VERSION:
        return "Can't downgrade the version of this feature."
    return None


def _upgrade_type(update: FeatureUpdateKey) -> UpgradeType:
    if update.allow_downgrade:
        return UpgradeType.SAFE_DOWNGRADE
    known = update.upgrade_type in UpgradeType._value2member_map_
    return UpgradeType(update.upgrade_type) if known else UpgradeType.UNKNOWN


def _reason_not_supported(context: Context, name: str, level: int) -> str | None:
    here = f"Local controller {context.settings.node.node_id}"
    if reason := _reason_of_node(here, SUPPORTED, name, level):
        return reason
    for broker_id, broker in context.image.brokers.items():
        if reason := _reason_of_node(f"Broker {broker_id}", broker.features, name, level):
            return reason
    for controller_id, controller in context.image.controllers.items():
        is_other = controller_id != context.settings.node.node_id
        node = f"Controller {controller_id}"
        if is_other and (reason := _reason_of_node(node, controller.features, name, level)):
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
    text = f"Unsupported metadata.version downgrade from {current} to {level}. {why}"
    raise ApiError(ErrorCode.INVALID_UPDATE_VERSION, text)
