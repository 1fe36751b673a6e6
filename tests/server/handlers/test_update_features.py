"""UpdateFeatures: levels within what the cluster supports. Expectations hold for Apache Kafka 4.3.1 as well."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from server.wire_client import WireClient

UPGRADE, SAFE_DOWNGRADE = 1, 2


def update(
    client: WireClient,
    feature: str,
    level: int,
    how: int = UPGRADE,
    *,
    version: int | None = None,
    dry: bool = False,
) -> Any:
    wanted = FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=how)
    request = UpdateFeaturesRequest(feature_updates=[wanted], timeout_ms=10_000, validate_only=dry)
    return client.ask(request, version)


@pytest.mark.parametrize(
    ("feature", "level", "how"),
    [
        ("no.such.version", 1, UPGRADE),
        ("metadata.version", 99, UPGRADE),
        ("group.version", 0, UPGRADE),
        ("group.version", -1, SAFE_DOWNGRADE),
        ("group.version", 1, 9),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(
    client: WireClient, feature: str, level: int, how: int
) -> None:
    answer = update(client, feature, level, how)

    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert feature in answer.error_message


def test_the_level_of_now_is_fine(client: WireClient) -> None:
    assert update(client, "metadata.version", 30).error_code == 0


def test_a_trial_changes_nothing(client: WireClient) -> None:
    assert update(client, "group.version", 0, SAFE_DOWNGRADE, dry=True).error_code == 0

    assert update(client, "group.version", 1).error_code == 0
