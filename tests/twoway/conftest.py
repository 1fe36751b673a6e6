"""The two stories, each lived once; the tests then look at what was seen on the way."""

import shutil
from collections.abc import Iterator

import pytest

from twoway.kafka_first import KafkaFirst
from twoway.klamm_first import KlammFirst


@pytest.fixture(scope="session")
def klamm_first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KlammFirst]:
    path = tmp_path_factory.mktemp("klamm-first")
    yield KlammFirst(path)
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def kafka_first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaFirst]:
    path = tmp_path_factory.mktemp("kafka-first")
    yield KafkaFirst(path)
    shutil.rmtree(path)
