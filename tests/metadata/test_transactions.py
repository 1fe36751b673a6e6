"""KIP-868: nobody ever sees half a transaction."""

import pytest

from klamm.metadata.delta import ReplayError
from klamm.metadata.image import ClusterImage
from klamm.metadata.records.configs import FeatureLevelRecord
from klamm.metadata.records.log import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    NoOpRecord,
)
from klamm.metadata.replay import Replayer

BEGIN, END, ABORT = BeginTransactionRecord(), EndTransactionRecord(), AbortTransactionRecord()


def feature(name):
    return FeatureLevelRecord(name=name, feature_level=1)


class Log:
    def __init__(self):
        self.replayer = Replayer(ClusterImage())
        self.end = 0

    def append(self, *records):
        self.end += len(records)
        self.replayer.replay(records, last_offset=self.end - 1, epoch=1, timestamp=self.end)
        return self.replayer.publish()


@pytest.fixture
def log():
    return Log()


def test_a_whole_transaction_is_published_at_its_end(log):
    image, delta = log.append(BEGIN, feature("a"), feature("b"), END)

    assert set(image.features) == {"a", "b"}
    assert image.offset == 3
    assert delta


def test_half_a_transaction_is_held_back_over_many_batches(log):
    log.append(feature("before"))

    for records in ((BEGIN, feature("a")), (feature("b"),), (NoOpRecord(),)):
        image, delta = log.append(*records)
        assert set(image.features) == {"before"}
        assert image.offset == 0
        assert not delta
        assert log.replayer.in_transaction

    image, delta = log.append(END)
    assert set(image.features) == {"before", "a", "b"}
    assert image.offset == log.end - 1
    assert not log.replayer.in_transaction


def test_an_aborted_transaction_leaves_nothing_but_the_offset(log):
    log.append(BEGIN, feature("a"))

    image, delta = log.append(ABORT)

    assert image.features == {}
    assert image.offset == 2
    assert not delta
    assert set(log.append(feature("b"))[0].features) == {"b"}


@pytest.mark.parametrize("records", [(END,), (ABORT,), (BEGIN, BEGIN)])
def test_transactions_begin_once_before_they_end(log, records):
    with pytest.raises(ReplayError):
        log.append(*records)
