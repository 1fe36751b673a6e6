"""UpdateFeatures, as a real 4.3.1 answered the same requests."""

from dataclasses import replace

import pytest

from klamm.base.ids import Uuid
from klamm.metadata.features import SUPPORTED
from klamm.metadata.image import ControllerImage, VersionRange
from klamm.metadata.records.configs import FeatureLevelRecord
from klamm.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

UNKNOWN, UPGRADE, SAFE, UNSAFE = range(4)
FAILED = "The update failed for all features since the following feature had an error: "
NOT_WITHOUT = (
    "Can't downgrade the version of this feature without setting the upgrade type to either safe "
    "or unsafe downgrade."
)


def update(machine, *updates, validate_only=False):
    request = UpdateFeaturesRequest(
        feature_updates=[
            FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
            for name, level, kind in updates
        ],
        validate_only=validate_only,
    )
    return machine.do(lambda controller: controller.update_features(request, 0))


@pytest.mark.parametrize(
    ("name", "level", "kind", "why"),
    [
        ("nope", 1, UPGRADE, "Local controller 1 does not support this feature."),
        ("", 1, UPGRADE, "Local controller 1 does not support this feature."),
        ("metadata.version", 31, UPGRADE, "Local controller 1 only supports versions 7-30"),
        ("metadata.version", 6, UNSAFE, "Local controller 1 only supports versions 7-30"),
        ("metadata.version", 29, UPGRADE, NOT_WITHOUT),
        ("group.version", 0, UPGRADE, NOT_WITHOUT),
        ("group.version", 2, UPGRADE, "Local controller 1 only supports versions 0-1"),
        ("group.version", -1, UPGRADE, "A feature version cannot be less than 0."),
        ("group.version", 0, UNKNOWN, "The controller does not support the given upgrade type."),
        ("group.version", 0, 9, "The controller does not support the given upgrade type."),
        ("kraft.version", 2, UPGRADE, "Local controller 1 only supports versions 0-1"),
    ],
)
def test_impossible_levels_are_refused(machine, name, level, kind, why):
    reply = update(machine, (name, level, kind))

    assert reply.error_code == 95
    assert (
        reply.error_message == f"{FAILED}Invalid update version {level} for feature {name}. {why}"
    )
    assert machine.records == []


@pytest.mark.parametrize(
    ("level", "kind", "why"),
    [
        (
            29,
            SAFE,
            "Refusing to perform the requested downgrade because it might delete metadata "
            "information.",
        ),
        (21, UNSAFE, "Unsafe metadata downgrade is not supported in this version."),
    ],
)
def test_metadata_that_older_nodes_cannot_read_forbids_a_downgrade(machine, level, kind, why):
    reply = update(machine, ("metadata.version", level, kind))

    assert reply.error_code == 95
    text = f"Unsupported metadata.version downgrade from 30 to {level}. {why}"
    assert reply.error_message == FAILED + text


def test_levels_go_up_and_down(machine):
    reply = update(machine, ("group.version", 0, SAFE), ("transaction.version", 1, UNSAFE))

    assert (reply.error_code, reply.error_message) == (0, None)
    assert [(each.feature, each.error_code, each.error_message) for each in reply.results] == [
        ("group.version", 0, "NONE"),
        ("transaction.version", 0, "NONE"),
    ]
    assert "group.version" not in machine.image.features
    assert machine.image.features["transaction.version"] == 1

    update(machine, ("group.version", 1, UPGRADE))

    assert machine.image.features["group.version"] == 1


def test_one_bad_update_undoes_all(machine):
    reply = update(machine, ("group.version", 0, SAFE), ("nope", 1, UPGRADE))

    assert reply.error_code == 95
    assert machine.image.features["group.version"] == 1


def test_validating_only_changes_nothing(machine):
    assert update(machine, ("group.version", 0, SAFE), validate_only=True).error_code == 0
    assert machine.image.features["group.version"] == 1


def test_the_level_that_holds_may_be_set_again(machine):
    assert update(machine, ("metadata.version", 30, UPGRADE)).error_code == 0
    assert machine.records == [FeatureLevelRecord(name="metadata.version", feature_level=30)]


def test_moving_the_voters_into_the_log_is_left_to_the_quorum(machine):
    asked = [FeatureUpdateKey(feature="kraft.version", max_version_level=1, upgrade_type=UPGRADE)]
    for validate_only in (True, False):
        request = UpdateFeaturesRequest(feature_updates=asked, validate_only=validate_only)

        decision = machine.controller.update_features(request, 0)

        assert not decision.records
        assert (decision.raises_kraft_version, decision.validate_only) == (True, validate_only)


def test_voters_in_the_log_stay_there(machine):
    machine.controller.kraft_version = 1

    again = update(machine, ("kraft.version", 1, UPGRADE))
    back = update(machine, ("kraft.version", 0, SAFE))

    assert again.error_code == 0
    assert back.error_code == 95
    assert back.error_message.endswith("Can't downgrade the version of this feature.")


def test_a_level_that_another_node_does_not_know_is_refused(machine):
    old = {"group.version": VersionRange(0, 0)}
    machine.put_broker(2, features={**SUPPORTED, **old})
    reply = update(machine, ("group.version", 1, UPGRADE))
    assert reply.error_message.endswith("Broker 2 does not support this feature.")

    machine.put_broker(2)
    other = ControllerImage(2, Uuid(b"incarnation-of-2"), features={"group.version": (0, 3)})
    machine.controller.image = replace(machine.image, controllers={2: other})
    reply = update(machine, ("transaction.version", 2, UPGRADE))
    assert reply.error_message.endswith("Controller 2 does not support this feature.")
