"""Against batches that Kafka's own classes wrote."""

import pytest

from klamm.protocol.records.batch import Codec, check_crc
from protocol.records.samples import SAMPLES, describe, read_vectors

VECTORS = read_vectors("batches")


def test_every_sample_has_a_vector():
    assert list(VECTORS) == [sample.name for sample in SAMPLES]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_batches_of_java_are_read(sample):
    vector = VECTORS[sample.name]

    assert check_crc(vector)
    assert describe(vector) == sample.describe()


@pytest.mark.parametrize(
    "sample", [s for s in SAMPLES if s.codec is Codec.NONE], ids=lambda sample: sample.name
)
def test_batches_without_compression_have_the_bytes_of_java(sample):
    assert sample.build() == VECTORS[sample.name]
