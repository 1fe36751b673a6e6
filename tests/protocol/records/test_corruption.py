"""Broken batches: whatever was done to the bytes, a reader gives records or CorruptFrame, and nothing else."""

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from klamm.base.errors import CorruptFrame
from klamm.protocol.records.batch import Codec, batches, read_header
from klamm.protocol.records.builder import rewrite_codec
from klamm.protocol.records.reader import read_keys, read_records
from protocol.records.raw import a_raw_batch
from protocol.records.samples import SAMPLES

SMALL = [sample for sample in SAMPLES if len(sample.build()) < 6000]
MUTATIONS_OF_EACH = 400
MAX_SIZE = 200_000


def mutations(data: bytes, seed: int) -> Iterator[bytes]:
    random = Random(seed)
    for _ in range(MUTATIONS_OF_EACH):
        mutant = bytearray(data)
        for _ in range(random.randint(1, 4)):
            mutate(mutant, random)
        yield bytes(mutant)


def mutate(mutant: bytearray, random: Random) -> None:
    at = random.randrange(len(mutant) + 1)
    match random.randrange(5):
        case 0 if at < len(mutant):
            mutant[at] ^= 1 << random.randrange(8)
        case 1 if at < len(mutant):
            mutant[at] = random.choice((0x00, 0x01, 0x7F, 0x80, 0xFF))
        case 2:
            mutant[at:at] = random.randbytes(random.randint(1, 4))
        case 3:
            del mutant[at : at + random.randint(1, 8)]
        case _:
            mutant[at:at] = mutant[at : at + random.randint(1, 30)]


def with_right_length(batch: bytes) -> bytes:
    """So that the reader gets past the first check."""
    return batch[:8] + (len(batch) - 12).to_bytes(4, "big", signed=True) + batch[12:]


def read_all(batch: bytes) -> bool:
    """Whether the batch was readable."""
    try:
        for record in read_records(batch, max_size=MAX_SIZE):
            assert record.value is None or len(record.value) <= MAX_SIZE
        return True
    except CorruptFrame:
        return False


@pytest.mark.parametrize("sample", SMALL, ids=lambda sample: sample.name)
def test_mutated_batch_is_read_or_corrupt(sample):
    for number, mutant in enumerate(mutations(bytes(sample.build()), seed=1)):
        batch = with_right_length(mutant) if number % 2 else mutant
        readable = read_all(batch)

        for use in (keys, lambda data: list(batches(data)), rewrite):
            try:
                use(batch)
            except CorruptFrame:
                # Keys and codec are looser than the records: what they refuse, the reader refuses.
                assert not readable


def keys(batch: bytes) -> None:
    list(read_keys(batch, max_size=MAX_SIZE))


def rewrite(batch: bytes) -> None:
    rewrite_codec(batch, Codec.LZ4, max_size=MAX_SIZE)


@pytest.mark.parametrize("sample", SMALL, ids=lambda sample: sample.name)
def test_mutated_records_under_a_right_header_are_read_or_corrupt(sample):
    batch = bytes(sample.build())
    header = read_header(batch)

    for records in mutations(batch[61:], seed=2):
        mutant = a_raw_batch(
            [records],
            count=header.count,
            last_delta=header.last_offset_delta,
            attributes=header.attributes,
            base_timestamp=header.base_timestamp,
        )
        read_all(bytes(mutant))


@pytest.mark.parametrize("sample", SMALL, ids=lambda sample: sample.name)
def test_every_prefix_of_a_batch_is_corrupt(sample):
    batch = bytes(sample.build())
    step = max(1, len(batch) // 500)

    for size in range(0, len(batch), step):
        for data in (batch[:size], with_right_length(batch[:size])):
            assert not read_all(data)


@given(data=st.binary(max_size=300))
def test_noise_is_not_a_batch(data):
    assert not read_all(data)


@given(records=st.binary(max_size=300), count=st.integers(0, 5), codec=st.integers(0, 7))
def test_noise_for_records_is_read_or_corrupt(records, count, codec):
    read_all(bytes(a_raw_batch([records], count=count, last_delta=10, attributes=codec)))
