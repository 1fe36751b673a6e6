"""What stays of one batch, rule by rule."""

from collections.abc import Sequence

import pytest

from klamm.log.compaction.batch_filter import BatchFilter, LastBatch
from klamm.log.compaction.offset_map import OffsetMap
from klamm.log.compaction.transactions import Transactions
from klamm.log.index.txn_index import AbortedTransaction
from klamm.protocol.records.batch import BytesLike, Codec, read_header, stamp
from klamm.protocol.records.reader import read_records
from log.compaction.rounds import Pair, keyed
from log.samples import NOW, a_marker

RETENTION = 1000
PRODUCER = 7


class Pass:
    """A second pass over batches that stand back to back from offset 0 on. `latest` maps keys to offsets."""

    def __init__(
        self,
        latest: dict[bytes, int] | None = None,
        *,
        mapped_up_to: int = 1000,
        end_offset: int = 2000,
        aborted: Sequence[AbortedTransaction] = (),
        last_batches: dict[int, LastBatch] | None = None,
        now: int = NOW,
    ) -> None:
        offsets = OffsetMap(most_keys=100, max_bytes=1 << 16)
        pairs = [(offset, key) for key, offset in (latest or {}).items()]
        assert offsets.put_all(sorted(pairs), start=0)
        offsets.latest_offset = mapped_up_to
        self.transactions = Transactions(aborted)
        self.filter = BatchFilter(
            offsets,
            self.transactions,
            last_batches or {},
            end_offset=end_offset,
            now=now,
            delete_retention_ms=RETENTION,
        )

    def meet(self, batch: bytearray, at: int = 0) -> BytesLike | None:
        stamp(batch, 0, at, 0)
        return self.filter.apply(read_header(batch), batch)


def pairs(batch: BytesLike | None) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(r.offset, r.key, r.value) for r in read_records(batch or b"")] if batch else []


def again(batch: BytesLike | None) -> bytearray:
    assert batch is not None
    return bytearray(batch)


# Keys ------------------------------------------------------------------------------------------


def test_batch_of_which_everything_stays_is_the_same_object() -> None:
    batch = keyed((b"a", b"1"), (b"b", b"2"))

    assert Pass({b"a": 10, b"b": 11}).meet(batch, at=10) is batch


def test_only_the_last_record_of_a_key_stays_and_keeps_its_offset() -> None:
    batch = keyed((b"a", b"1"), (b"b", b"2"), (b"a", b"3"), codec=Codec.SNAPPY)

    rest = Pass({b"a": 12, b"b": 50}).meet(batch, at=10)

    assert pairs(rest) == [(12, b"a", b"3")]
    assert read_header(again(rest)).codec is Codec.SNAPPY


def test_batch_of_which_nothing_stays_goes() -> None:
    assert Pass({b"a": 50}).meet(keyed((b"a", b"1"))) is None


def test_key_that_is_only_in_the_clean_part_stays() -> None:
    batch = keyed((b"old", b"1"))

    assert Pass({b"a": 50}).meet(batch) is batch


def test_record_without_a_key_goes() -> None:
    assert pairs(Pass().meet(keyed((None, b"1"), (b"a", b"2")))) == [(1, b"a", b"2")]


def test_everything_behind_the_map_stays() -> None:
    batch = keyed((b"a", b"1"), (None, b"2"))

    assert Pass({b"a": 900}, mapped_up_to=99).meet(batch, at=100) is batch


# Tombstones ------------------------------------------------------------------------------------


def test_tombstone_gets_a_horizon_when_it_is_met_first() -> None:
    rest = Pass({b"a": 0}).meet(keyed((b"a", None)))

    assert read_header(again(rest)).delete_horizon == NOW + RETENTION
    assert pairs(rest) == [(0, b"a", None)]


def test_batch_without_tombstones_gets_no_horizon() -> None:
    rest = Pass({b"a": 50}).meet(keyed((b"a", None), (b"b", b"1")))

    assert pairs(rest) == [(1, b"b", b"1")]
    assert read_header(again(rest)).delete_horizon is None


@pytest.mark.parametrize(("age", "stays"), [(RETENTION - 1, True), (RETENTION, False)])
def test_tombstone_goes_when_its_horizon_has_come(age: int, stays: bool) -> None:
    marked = again(Pass().meet(keyed((b"a", None), (b"b", b"1"))))

    rest = Pass(now=NOW + age).meet(marked)

    assert pairs(rest) == ([(0, b"a", None)] if stays else []) + [(1, b"b", b"1")]
    assert read_header(again(rest)).delete_horizon == NOW + RETENTION


def test_tombstone_that_a_later_record_covers_goes_at_once() -> None:
    marked = again(Pass().meet(keyed((b"a", None), (b"b", b"1"))))

    assert pairs(Pass({b"a": 80}).meet(marked)) == [(1, b"b", b"1")]


# Producers -------------------------------------------------------------------------------------


def test_last_batch_of_a_living_producer_stays_empty() -> None:
    batch = keyed((b"a", b"1"), (b"a", b"2"), producer=(PRODUCER, 3, 40), codec=Codec.GZIP)

    rest = Pass({b"a": 50}, last_batches={PRODUCER: LastBatch(21, 3)}).meet(batch, at=20)

    header = read_header(again(rest))
    assert pairs(rest) == []
    assert (header.base_offset, header.last_offset, header.last_sequence) == (20, 21, 41)


def test_earlier_batch_of_a_living_producer_goes() -> None:
    batch = keyed((b"a", b"1"), producer=(PRODUCER, 3, 40))

    assert Pass({b"a": 50}, last_batches={PRODUCER: LastBatch(21, 3)}).meet(batch, at=9) is None


def test_batch_of_a_forgotten_producer_goes() -> None:
    batch = keyed((b"a", b"1"), producer=(PRODUCER, 3, 40))

    assert Pass({b"a": 50}).meet(batch, at=20) is None


def test_empty_batch_goes_when_its_producer_wrote_again() -> None:
    batch = keyed((b"a", b"1"), producer=(PRODUCER, 3, 40))
    empty = again(Pass({b"a": 9}, last_batches={PRODUCER: LastBatch(0, 3)}).meet(batch))

    assert Pass(last_batches={PRODUCER: LastBatch(30, 3)}).meet(empty) is None


def test_last_batch_of_what_is_cleaned_stays_empty() -> None:
    rest = Pass({b"a": 50}, end_offset=12).meet(keyed((b"a", b"1"), (b"a", b"2")), at=10)

    assert pairs(rest) == []
    assert read_header(again(rest)).last_offset == 11


# Transactions ----------------------------------------------------------------------------------


def test_aborted_data_goes_at_once_and_its_marker_stays() -> None:
    aborted = AbortedTransaction(PRODUCER, 0, 1, 2)
    walk = Pass(aborted=[aborted])
    marker = a_marker(PRODUCER, abort=True)

    data = walk.meet(keyed((b"a", b"1"), producer=(PRODUCER, 0, 0), transactional=True))

    assert data is None
    assert walk.meet(marker, at=1) is marker
    assert walk.transactions.take_indexed() == [aborted]


def test_aborted_data_behind_the_map_goes_too() -> None:
    walk = Pass(aborted=[AbortedTransaction(PRODUCER, 5, 6, 7)], mapped_up_to=3)

    data = keyed((b"a", b"1"), producer=(PRODUCER, 0, 0), transactional=True)

    assert walk.meet(data, at=5) is None


def test_committed_data_of_a_producer_that_aborted_before_stays() -> None:
    walk = Pass(aborted=[AbortedTransaction(PRODUCER, 0, 1, 2)])
    walk.meet(keyed((b"a", b"1"), producer=(PRODUCER, 0, 0), transactional=True))
    walk.meet(a_marker(PRODUCER, abort=True), at=1)
    data = keyed((b"a", b"2"), producer=(PRODUCER, 0, 1), transactional=True)
    marker = a_marker(PRODUCER, abort=False)

    assert walk.meet(data, at=2) is data
    assert walk.meet(marker, at=3) is marker


def test_committed_data_of_a_producer_that_aborts_later_stays() -> None:
    walk = Pass(aborted=[AbortedTransaction(PRODUCER, 10, 11, 12)])
    data = keyed((b"a", b"1"), producer=(PRODUCER, 0, 0), transactional=True)

    assert walk.meet(data, at=0) is data


def test_marker_is_judged_by_the_data_since_the_one_before_it() -> None:
    walk = Pass()
    walk.meet(keyed((b"a", b"1"), producer=(PRODUCER, 0, 0), transactional=True), at=0)
    walk.meet(a_marker(PRODUCER, abort=False), at=1)

    second = walk.meet(a_marker(PRODUCER, abort=False), at=2)

    assert read_header(again(second)).delete_horizon == NOW + RETENTION


def test_data_outside_the_transaction_of_another_producer_stays() -> None:
    data = keyed((b"a", b"1"), producer=(8, 0, 0))

    assert Pass(aborted=[AbortedTransaction(PRODUCER, 0, 9, 10)]).meet(data, at=5) is data


@pytest.mark.parametrize("abort", [True, False])
def test_marker_without_data_gets_a_horizon_and_goes_after_it(abort: bool) -> None:
    first = Pass()
    marked = again(first.meet(a_marker(PRODUCER, abort=abort)))
    header = read_header(marked)

    assert (header.delete_horizon, header.is_control, header.count) == (NOW + RETENTION, True, 1)
    assert first.transactions.take_indexed() == []
    assert Pass(now=NOW + RETENTION - 1).meet(marked) is marked
    assert Pass(now=NOW + RETENTION).meet(marked) is None


def test_marker_of_data_that_was_compacted_away_in_this_round_still_waits() -> None:
    walk = Pass({b"a": 50})
    walk.meet(keyed((b"a", b"1"), producer=(PRODUCER, 0, 0), transactional=True))
    marker = a_marker(PRODUCER, abort=False)

    assert walk.meet(marker, at=1) is marker


def test_empty_batch_of_a_transaction_keeps_its_marker() -> None:
    data = keyed((b"a", b"1"), producer=(PRODUCER, 0, 0), transactional=True)
    last_batches = {PRODUCER: LastBatch(0, 0)}
    empty = again(Pass({b"a": 50}, last_batches=last_batches).meet(data))
    walk = Pass(last_batches=last_batches)
    marker = a_marker(PRODUCER, abort=False)

    assert pairs(walk.meet(empty)) == []
    assert walk.meet(marker, at=1) is marker


def test_last_marker_of_a_living_producer_without_data_stays_empty_for_its_epoch() -> None:
    marked = again(Pass().meet(a_marker(PRODUCER, 4, abort=True)))
    living = {PRODUCER: LastBatch(None, 4)}

    rest = Pass(now=NOW + RETENTION, last_batches=living).meet(marked)

    header = read_header(again(rest))
    assert (header.is_control, header.count, header.producer_epoch) == (True, 0, 4)
    assert Pass(last_batches=living).meet(again(rest)) == rest
    assert Pass().meet(again(rest)) is None


def test_mixed_history_gives_each_batch_its_own_answer() -> None:
    content: list[Pair] = [(b"a", b"1"), (b"b", None)]
    walk = Pass({b"a": 4}, aborted=[AbortedTransaction(PRODUCER, 2, 6, 7)])

    rests = [
        walk.meet(keyed(*content), at=0),
        walk.meet(keyed(*content, producer=(PRODUCER, 0, 0), transactional=True), at=2),
        walk.meet(keyed(*content), at=4),
    ]

    assert [pairs(rest) for rest in rests] == [
        [(1, b"b", None)],
        [],
        [(4, b"a", b"1"), (5, b"b", None)],
    ]
