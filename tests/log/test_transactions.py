"""What the log keeps of transactions: where the unstable part begins, and which of its records were aborted."""

from hypothesis import given, settings
from hypothesis import strategies as st

from klamm.log.index.txn_index import AbortedTransaction, parse
from klamm.log.log import Log
from klamm.testing.disk import MemoryDisk
from log.samples import NOW, a_batch, a_log, append, append_all, end_transaction
from log.samples import settings as topic_settings


def write(log: Log, producer_id: int, sequence: int = 0, epoch: int = 0) -> int:
    batch = a_batch(producer=(producer_id, epoch, sequence), transactional=True)
    return append(log, batch).base_offset


def test_the_log_is_stable_up_to_the_earliest_open_transaction():
    log = a_log(MemoryDisk())
    append_all(log, b"a")
    assert log.first_unstable_offset is None

    write(log, 7)
    write(log, 8)
    assert log.first_unstable_offset == 1
    end_transaction(log, 7, abort=False)
    assert log.first_unstable_offset == 2
    end_transaction(log, 8, abort=True)
    assert log.first_unstable_offset is None


def test_a_transaction_whose_beginning_was_deleted_is_unstable_from_the_start_on():
    log = a_log(MemoryDisk())
    write(log, 7)
    append_all(log, b"a", b"b")

    log.advance_start(2)

    assert log.first_unstable_offset == 2


def test_readers_hear_of_the_aborted_transactions_they_touch():
    log = a_log(MemoryDisk(), topic_settings(segment_bytes=200))
    write(log, 7)  # 0
    write(log, 8)  # 1
    end_transaction(log, 7, abort=True)  # 2
    append_all(log, b"a", b"b")  # 3, 4
    end_transaction(log, 8, abort=True)  # 5
    write(log, 9)  # 6
    end_transaction(log, 9, abort=False)  # 7

    assert log.aborted_transactions(0, 8) == [(7, 0), (8, 1)]
    assert log.aborted_transactions(3, 8) == [(8, 1)]
    assert log.aborted_transactions(0, 1) == [(7, 0)]
    assert log.aborted_transactions(6, 8) == []


def test_after_a_commit_the_producer_may_go_on_with_the_epoch_of_the_marker():
    """With transaction.version 2 the marker carries the epoch of the next transaction."""
    log = a_log(MemoryDisk())
    write(log, 7, epoch=0)
    end_transaction(log, 7, epoch=1, abort=False)

    assert write(log, 7, epoch=1) == 2
    assert log.first_unstable_offset == 2


def test_open_transactions_survive_a_restart():
    disk = MemoryDisk()
    log = a_log(disk)
    write(log, 7)
    write(log, 8)
    end_transaction(log, 7, abort=True)
    log.close(NOW)

    log = a_log(disk, clean=True)

    assert log.first_unstable_offset == 1
    assert log.aborted_transactions(0, 3) == [(7, 0)]
    end_transaction(log, 8, abort=True)
    assert log.aborted_transactions(0, 4) == [(7, 0), (8, 1)]


def test_index_bytes_are_those_of_kafka():
    entry = AbortedTransaction(1000, 5, 9, 10)

    data = entry.to_bytes()

    assert data.hex() == (
        "0000" "00000000000003e8" "0000000000000005" "0000000000000009" "000000000000000a"
    )  # fmt: skip
    assert list(parse(data + data[:20])) == [entry]


@given(
    st.lists(
        st.tuples(st.sampled_from(["write", "commit", "abort", "plain"]), st.integers(0, 3)),
        max_size=40,
    ),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_bookkeeping_agrees_with_a_naive_history(steps, data):
    """Against a list of all transactions: (producer, first offset, marker offset or None, aborted)."""
    log = a_log(MemoryDisk(), topic_settings(segment_bytes=300))
    history: list[list] = []
    sequences = [0] * 4
    for step, producer in steps:
        mine = [t for t in history if t[0] == producer and t[2] is None]
        if step == "write":
            offset = write(log, producer, sequences[producer])
            sequences[producer] += 1
            if not mine:
                history.append([producer, offset, None, False])
        elif step == "plain":
            append_all(log, b"v")
        else:
            marker = end_transaction(log, producer, abort=step == "abort").base_offset
            for transaction in mine:
                transaction[2:] = [marker, step == "abort"]

    start = data.draw(st.integers(0, log.end_offset))
    end = data.draw(st.integers(start, log.end_offset))

    is_open = [first for _, first, marker, _ in history if marker is None]
    assert log.first_unstable_offset == min(is_open, default=None)
    touched = {(p, f) for p, f, m, aborted in history if aborted and m >= start and f < end}
    told = set(log.aborted_transactions(start, end))
    # More may be told than needed, never less: a reader skips by first offset.
    assert touched <= told
    assert told <= {(p, f) for p, f, _, aborted in history if aborted}
