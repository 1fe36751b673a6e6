"""Who may do what: klamm denies, hides and allows as a real Kafka with StandardAuthorizer does."""

from collections.abc import Iterator

import pytest

from support.brokers import start_kafka, start_klamm, write_kafka_config
from support.guarded.stage import SETTINGS, SecuredStage
from support.guarded.table import TRIALS, Trial, outline

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def kafka() -> Iterator[SecuredStage]:
    broker = start_kafka(settings=SETTINGS)
    yield SecuredStage(broker.address)
    broker.stop()


@pytest.fixture(scope="module")
def klamm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredStage]:
    """On the very same server.properties."""
    home = tmp_path_factory.mktemp("klamm")
    config = write_kafka_config(home, SETTINGS)
    broker = start_klamm(home=home, config=config)
    yield SecuredStage(broker.address)
    broker.stop()


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_klamm_allows_and_denies_as_kafka_does(
    kafka: SecuredStage, klamm: SecuredStage, trial: Trial
) -> None:
    assert outline(klamm.try_(trial)) == outline(kafka.try_(trial))
