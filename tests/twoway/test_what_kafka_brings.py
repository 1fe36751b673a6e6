"""What Kafka wrote, klamm shows as Kafka does, and gives back unhurt: transactions, groups, quotas, users."""

from typing import Any

import pytest

from klamm.base.ids import TopicPartition
from twoway.kafka_first import KafkaFirst

pytestmark = pytest.mark.oracle

TRANSACTIONS = TopicPartition("transactions", 0)
OPEN = TopicPartition("transactions", 1)


def words(records: list[Any]) -> set[str]:
    """What the keys begin with: how the transaction of the record ended."""
    return {str(key, "ascii").partition("-")[0] for _, _, key, *_ in records if key}


def test_klamm_shows_a_committed_reader_committed_records_alone(kafka_first: KafkaFirst) -> None:
    _, klamm, *_ = kafka_first.home.stages

    assert words(klamm.opening.committed[TRANSACTIONS]) == {"committed"}
    assert words(klamm.opening.uncommitted[TRANSACTIONS]) == {"committed", "aborted"}
    assert len(klamm.opening.aborted[TRANSACTIONS]) == 12


def test_klamm_ends_at_an_open_transaction_for_a_committed_reader(kafka_first: KafkaFirst) -> None:
    _, klamm, *_ = kafka_first.home.stages

    assert words(klamm.opening.committed[OPEN]) == {"committed"}
    assert words(klamm.opening.uncommitted[OPEN]) == {"committed", "open", "hidden"}
    assert klamm.opening.offsets[OPEN]["stable"] == 1
    assert klamm.opening.offsets[OPEN][-1] == (-1, 3)


def test_kafka_ends_the_open_transaction_when_it_has_the_directory_again(
    kafka_first: KafkaFirst,
) -> None:
    _, _, kafka, klamm = kafka_first.home.stages

    assert kafka.opening.offsets[OPEN]["stable"] == 1
    assert words(klamm.opening.committed[OPEN]) == {"committed", "hidden"}
    assert klamm.opening.offsets[OPEN]["stable"] == klamm.opening.offsets[OPEN][-1][1]


def test_transactions_and_their_index_fill_several_segments(kafka_first: KafkaFirst) -> None:
    folder = kafka_first.home.folder("transactions-0")

    assert len(list(folder.glob("*.log"))) > 2
    assert len(list(folder.glob("*.txnindex"))) > 1


def test_klamm_shows_internal_topics_as_it_shows_others(kafka_first: KafkaFirst) -> None:
    _, klamm, *_ = kafka_first.home.stages
    internal = {name for name, (_, is_internal, _) in klamm.opening.topics.items() if is_internal}

    assert internal == {"__consumer_offsets", "__transaction_state"}
    assert internal <= {partition.topic for partition in klamm.opening.uncommitted}


def test_groups_go_on_where_they_had_committed(kafka_first: KafkaFirst) -> None:
    before, after = kafka_first.kept

    assert kafka_first.resumed_at == after["committed"] == before["committed"]


def test_quotas_and_credentials_outlive_klamms_snapshots(kafka_first: KafkaFirst) -> None:
    before, after = kafka_first.kept

    assert (after["quotas"], after["credentials"]) == (before["quotas"], before["credentials"])
