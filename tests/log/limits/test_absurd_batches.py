"""Batches that claim, or hold, more than anybody could look through."""

import pytest

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.settings.topic import TopicSettings
from klamm.log.log import Log
from klamm.protocol.records.batch import Codec, stamp_crc
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.testing.disk import MemoryDisk

NOW = 1_750_000_000_000


def a_log(**settings: object) -> Log:
    return Log.open(
        MemoryDisk(), "/t-0", TopicSettings(**settings), now=NOW, clean=True, topic_id=None
    )


def a_claim(count: int, *, attributes: int = 0) -> bytearray:
    """One record in a batch that counts many."""
    batch = build_batch([Record(timestamp=NOW, key=b"k", value=b"v")])
    batch[21:23] = attributes.to_bytes(2, "big")
    batch[23:27] = (count - 1).to_bytes(4, "big")
    batch[57:61] = count.to_bytes(4, "big")
    stamp_crc(batch, 0, len(batch))
    return batch


def many_records(count: int, codec: Codec) -> bytearray:
    return build_batch(
        [Record(timestamp=NOW, key=b"k", value=b"") for _ in range(count)], codec=codec
    )


def refusal_of(log: Log, batch: bytearray) -> ApiError:
    with pytest.raises(ApiError) as refused:
        log.append(batch, leader_epoch=0, now=NOW)
    assert log.end_offset == 0
    return refused.value


@pytest.mark.parametrize("count", [2**31 - 1, 2_000_000])
def test_a_batch_cannot_claim_more_records_than_would_fit(count: int) -> None:
    assert refusal_of(a_log(), a_claim(count)).code == ErrorCode.INVALID_RECORD


def test_the_answer_names_only_so_many_records_that_are_to_blame() -> None:
    log = a_log(message_timestamp_type="LogAppendTime")

    refused = refusal_of(log, a_claim(1_000_000, attributes=8))

    assert refused.code == ErrorCode.INVALID_TIMESTAMP
    assert len(refused.record_errors) == 10_000  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "settings", [{"cleanup_policy": ("compact",)}, {"compression_type": "lz4"}]
)
def test_a_batch_that_must_be_looked_into_may_not_burst(settings: dict[str, object]) -> None:
    bomb = build_batch([Record(timestamp=NOW, key=b"k", value=bytes(11 << 20))], codec=Codec.GZIP)

    refused = refusal_of(a_log(**settings), bomb)

    assert refused.code == ErrorCode.INVALID_RECORD
    assert "more than" in refused.message


def test_a_batch_whose_records_must_be_checked_may_not_have_too_many() -> None:
    log = a_log(cleanup_policy=("compact",))

    refused = refusal_of(log, many_records(140_000, Codec.GZIP))

    assert refused.code == ErrorCode.INVALID_RECORD
    log.append(many_records(130_000, Codec.GZIP), leader_epoch=0, now=NOW)


def test_a_batch_that_nobody_can_read_is_found_by_its_newest_timestamp() -> None:
    log = a_log()
    torn = build_batch([Record(timestamp=NOW, value=b"x" * 100)] * 3, codec=Codec.ZSTD)
    torn[-20:] = bytes(20)
    stamp_crc(torn, 0, len(torn))
    log.append(torn, leader_epoch=0, now=NOW)

    found = log.offset_for_timestamp(NOW)

    assert found is not None
    assert (found.offset, found.timestamp) == (0, NOW)
