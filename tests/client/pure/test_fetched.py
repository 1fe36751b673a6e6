"""What is shown of fetched bytes, and where reading goes on."""

import pytest

from klamm.base.errors import ApiError, CorruptFrame, ErrorCode
from klamm.base.ids import TopicPartition
from klamm.client.consumer.completed_fetch import Fetched
from klamm.protocol.messages.fetch import AbortedTransaction
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.control import EndMarker, end_marker_batch
from klamm.protocol.records.reader import Record

PARTITION = TopicPartition("topic", 0)


def batch(offset: int, *values: bytes, producer_id: int = -1) -> bytes:
    return bytes(
        build_batch(
            [Record(timestamp=0, value=value) for value in values],
            base_offset=offset,
            leader_epoch=2,
            producer_id=producer_id,
            producer_epoch=-1 if producer_id < 0 else 0,
            transactional=producer_id >= 0,
        )
    )


def marker(offset: int, producer_id: int, *, is_commit: bool) -> bytes:
    return bytes(
        end_marker_batch(
            EndMarker(is_commit, 0),
            producer_id=producer_id,
            producer_epoch=0,
            timestamp=0,
            base_offset=offset,
            leader_epoch=2,
        )
    )


def shown(fetched: Fetched, most: int = 100) -> list[bytes | None]:
    return [record.value for _, record in fetched.take(most)]


def aborted(*entries: tuple[int, int]) -> list[AbortedTransaction]:
    return [AbortedTransaction(producer_id=who, first_offset=first) for who, first in entries]


def test_records_before_the_position_are_left_out() -> None:
    fetched = Fetched(PARTITION, 2, batch(0, b"0", b"1", b"2", b"3"))

    assert shown(fetched) == [b"2", b"3"]
    assert (fetched.next_offset, fetched.leader_epoch, fetched.is_over) == (4, 2, True)


def test_records_are_given_out_bit_by_bit() -> None:
    fetched = Fetched(PARTITION, 0, batch(0, b"0", b"1") + batch(2, b"2"))

    assert [shown(fetched, 1), fetched.next_offset] == [[b"0"], 1]
    assert [shown(fetched, 5), fetched.next_offset] == [[b"1", b"2"], 3]


def test_batch_that_was_cut_off_is_for_the_next_fetch() -> None:
    fetched = Fetched(PARTITION, 0, batch(0, b"0") + batch(1, b"1")[:-3])

    assert shown(fetched) == [b"0"]
    assert (fetched.next_offset, fetched.is_over) == (1, True)


def test_aborted_transaction_is_hidden_and_passed_over() -> None:
    data = (
        batch(0, b"bad", producer_id=7)
        + batch(1, b"good")
        + marker(2, 7, is_commit=False)
        + batch(3, b"later", producer_id=7)
        + marker(4, 7, is_commit=True)
    )
    fetched = Fetched(PARTITION, 0, data, aborted=aborted((7, 0)))

    assert shown(fetched) == [b"good", b"later"]
    assert fetched.next_offset == 5


def test_interleaved_transactions_are_told_apart() -> None:
    data = (
        batch(0, b"a1", producer_id=1)
        + batch(1, b"b1", producer_id=2)
        + batch(2, b"a2", producer_id=1)
        + marker(3, 2, is_commit=True)
        + marker(4, 1, is_commit=False)
    )
    fetched = Fetched(PARTITION, 0, data, aborted=aborted((1, 0)))

    assert shown(fetched) == [b"b1"]


def test_reading_uncommitted_shows_everything_but_markers() -> None:
    data = batch(0, b"bad", producer_id=7) + marker(1, 7, is_commit=False)
    fetched = Fetched(PARTITION, 0, data)

    assert shown(fetched) == [b"bad"]
    assert fetched.next_offset == 2


def test_fetch_of_nothing_but_hidden_records_still_moves_on() -> None:
    data = batch(0, b"bad", producer_id=7) + marker(1, 7, is_commit=False)
    fetched = Fetched(PARTITION, 0, data, aborted=aborted((7, 0)))

    assert shown(fetched) == []
    assert (fetched.next_offset, fetched.is_over) == (2, True)


def test_damage_is_told_when_no_good_records_are_left_before_it() -> None:
    damaged = bytearray(batch(1, b"1"))
    damaged[-1] ^= 1
    fetched = Fetched(PARTITION, 0, batch(0, b"0") + bytes(damaged))

    assert shown(fetched) == [b"0"]
    assert (fetched.next_offset, fetched.is_over) == (1, True)
    with pytest.raises(ApiError) as caught:
        Fetched(PARTITION, 1, bytes(damaged)).take(1)
    assert caught.value.code == ErrorCode.CORRUPT_MESSAGE


def test_count_is_that_of_the_records_that_would_be_shown() -> None:
    data = (
        batch(0, b"0", b"1", b"2")
        + batch(3, b"bad", producer_id=7)
        + marker(4, 7, is_commit=False)
        + batch(5, b"5", b"6")
        + batch(7, b"7", b"8", b"9")
    )

    for begin, end in [(0, 10), (1, 10), (0, 8), (2, 6), (3, 5), (5, 7)]:
        fetched = Fetched(PARTITION, begin, data, aborted=aborted((7, 0)))
        offsets = [record.offset for _, record in fetched.take(100) if record.offset < end]
        counted = Fetched(PARTITION, begin, data, aborted=aborted((7, 0)))
        assert counted.count(end) == len(offsets)
        assert counted.next_offset >= end


def test_count_ends_behind_offsets_that_compaction_has_taken() -> None:
    fetched = Fetched(PARTITION, 0, batch(0, b"0") + batch(9, b"9"))

    assert (fetched.count(5), fetched.next_offset) == (1, 5)


def test_damage_is_not_counted() -> None:
    damaged = bytearray(batch(0, b"0"))
    damaged[-1] ^= 1

    with pytest.raises(CorruptFrame):
        Fetched(PARTITION, 0, bytes(damaged)).count(1)
