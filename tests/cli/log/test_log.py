"""klamm log dump and klamm log verify, on files written here byte by byte and by a broker."""

from pathlib import Path

import pytest

from cli.commands import Klamm
from klamm.log.index.offset_index import OffsetIndex
from klamm.log.index.time_index import TimeIndex
from klamm.log.index.txn_index import AbortedTransaction
from klamm.protocol.records.batch import Codec
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.control import EndMarker, end_marker_batch
from klamm.protocol.records.reader import Record
from support.brokers import start_klamm

FIRST = "00000000000000000000"
SECOND = "00000000000000000004"


def a_batch(
    base_offset: int,
    *values: bytes,
    timestamp: int = 1000,
    epoch: int = 0,
    codec: Codec = Codec.NONE,
) -> bytes:
    records = [
        Record(timestamp=timestamp, key=b"k", value=value, headers=[("h", b"1")])
        for value in values
    ]
    return bytes(build_batch(records, base_offset=base_offset, leader_epoch=epoch, codec=codec))


def an_abort(offset: int, producer_id: int) -> bytes:
    marker = EndMarker(is_commit=False, coordinator_epoch=3)
    return bytes(
        end_marker_batch(
            marker,
            producer_id=producer_id,
            producer_epoch=0,
            timestamp=1000,
            base_offset=offset,
            leader_epoch=0,
        )
    )


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """Two segments: offsets 0 to 3 in two batches, and 4 to 6, of which 6 is an abort marker."""
    directory = tmp_path / "orders-0"
    directory.mkdir()
    first = [a_batch(0, b"a", b"b"), a_batch(2, b"c", b"d", timestamp=2000, codec=Codec.GZIP)]
    (directory / f"{FIRST}.log").write_bytes(b"".join(first))
    (directory / f"{SECOND}.log").write_bytes(
        a_batch(4, b"e", b"\xff", timestamp=3000) + an_abort(6, producer_id=9)
    )
    index, times = OffsetIndex(), TimeIndex()
    index.append(3, len(first[0]))
    times.append(2000, 3)
    # As Kafka leaves it in use: preallocated, with zeros behind the entries.
    (directory / f"{FIRST}.index").write_bytes(index.to_bytes() + bytes(80))
    (directory / f"{FIRST}.timeindex").write_bytes(times.to_bytes() + bytes(120))
    (directory / f"{SECOND}.txnindex").write_bytes(AbortedTransaction(9, 4, 6, 7).to_bytes())
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    (directory / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    return directory


def problems(klamm: Klamm, directory: Path, *arguments: str) -> list[str]:
    answer = klamm("log", "verify", str(directory), *arguments)
    found = [row["problem"] for row in answer.rows if "problem" in row]
    assert answer.code == (1 if found else 0)
    return found


def test_dump_shows_the_batches_of_a_segment(klamm: Klamm, partition: Path) -> None:
    rows = klamm("log", "dump", str(partition / f"{FIRST}.log")).rows

    shown = [
        (row["base_offset"], row["last_offset"], row["records"], row["codec"], row["crc_ok"])
        for row in rows
    ]
    assert shown == [(0, 1, 2, "none", True), (2, 3, 2, "gzip", True)]


def test_dump_shows_records_on_demand(klamm: Klamm, partition: Path) -> None:
    rows = klamm("log", "dump", str(partition / f"{SECOND}.log"), "--records").rows

    file = str(partition / f"{SECOND}.log")
    headers = [{"key": "h", "value": "1"}]
    place = {"file": file, "batch": 4, "timestamp": 3000, "key": "k", "headers": headers}
    assert rows == [
        {**place, "offset": 4, "value": "e"},
        {**place, "offset": 5, "value": {"base64": "/w=="}},
        {
            "file": file,
            "batch": 6,
            "offset": 6,
            "timestamp": 1000,
            "control": "abort",
            "producer_id": 9,
            "producer_epoch": 0,
            "coordinator_epoch": 3,
        },
    ]


def test_dump_of_a_directory_shows_every_file(klamm: Klamm, partition: Path) -> None:
    rows = klamm("log", "dump", str(partition)).rows

    def of(name: str) -> list[dict[str, object]]:
        file = str(partition / name)
        return [
            {key: value for key, value in row.items() if key != "file"}
            for row in rows
            if row["file"] == file
        ]

    assert of(f"{FIRST}.index") == [{"offset": 3, "position": 87}]
    assert of(f"{FIRST}.timeindex") == [{"timestamp": 2000, "offset": 3}]
    aborted = {"producer_id": 9, "first_offset": 4, "last_offset": 6, "last_stable_offset": 7}
    assert of(f"{SECOND}.txnindex") == [aborted]
    assert of("leader-epoch-checkpoint") == [{"epoch": 0, "start_offset": 0}]
    assert of("partition.metadata") == [{"version": "0", "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ"}]


def test_dump_gives_what_stands_before_the_damage(klamm: Klamm, partition: Path) -> None:
    file = partition / f"{FIRST}.log"
    file.write_bytes(file.read_bytes()[:-5])

    answer = klamm("log", "dump", str(file))

    assert answer.code == 1
    assert [row["base_offset"] for row in answer.rows] == [0]
    assert "is damaged" in answer.err


@pytest.mark.parametrize("name", ["absent.log", "notes.txt"])
def test_dump_of_what_is_no_log_is_wrong_usage(klamm: Klamm, tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.txt").touch()

    assert klamm("log", "dump", str(tmp_path / name)).code == 2


def test_sound_partition_has_no_problem(klamm: Klamm, partition: Path) -> None:
    answer = klamm("log", "verify", str(partition), "--deep")

    summary = {
        "partition": "orders-0",
        "segments": 2,
        "batches": 4,
        "records": 7,
        "start_offset": 0,
        "end_offset": 7,
    }
    assert (answer.code, answer.rows) == (0, [{**summary, "problems": 0}])


def test_records_below_the_start_of_the_log_need_no_epoch(klamm: Klamm, partition: Path) -> None:
    (partition / "leader-epoch-checkpoint").write_text("0\n1\n0 3\n")

    assert problems(klamm, partition) == []


def test_data_directory_is_verified_partition_by_partition(klamm: Klamm, partition: Path) -> None:
    rows = klamm("log", "verify", str(partition.parent)).rows

    assert [row["partition"] for row in rows] == ["orders-0"]


def test_directory_without_partitions_is_wrong_usage(klamm: Klamm, tmp_path: Path) -> None:
    assert klamm("log", "verify", str(tmp_path)).code == 2


def test_flipped_bit_is_found_by_the_checksum(klamm: Klamm, partition: Path) -> None:
    file = partition / f"{FIRST}.log"
    damaged = bytearray(file.read_bytes())
    damaged[70] ^= 1
    file.write_bytes(damaged)

    assert problems(klamm, partition) == ["byte 0: the checksum of the batch at offset 0 is wrong"]


def test_torn_end_is_found(klamm: Klamm, partition: Path) -> None:
    file = partition / f"{SECOND}.log"
    file.write_bytes(file.read_bytes() + a_batch(7, b"torn")[:-1])

    assert len(problems(klamm, partition)) == 1
    assert "a torn end is cut when the broker starts" in klamm("log", "verify", str(partition)).err


def test_damage_in_the_middle_is_not_called_a_torn_end(klamm: Klamm, partition: Path) -> None:
    whole = {name: (partition / f"{name}.log").read_bytes() for name in (FIRST, SECOND)}
    # A flipped bit; a length that leads beyond the file with a batch behind it that the index knows; half a first segment.
    damages = (
        (FIRST, lambda data: data[:70] + bytes([data[70] ^ 1]) + data[71:]),
        (FIRST, lambda data: data[:8] + b"\x7f" + data[9:]),
        (FIRST, lambda data: data[:-3]),
        (SECOND, lambda data: data[:16] + b"\x09" + data[17:]),
    )
    for name, damage in damages:
        for each, data in whole.items():
            (partition / f"{each}.log").write_bytes(damage(data) if each == name else data)

        answer = klamm("log", "verify", str(partition))

        assert answer.code == 1
        assert "torn end" not in answer.err
        assert "no start of the broker repairs this" in answer.err


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        (a_batch(6, b"again"), "offset 6 comes after 6"),
        (a_batch(7, b"x", epoch=1), "epoch 1, but leader-epoch-checkpoint says 0"),
    ],
)
def test_batch_that_does_not_continue_the_log_is_found(
    klamm: Klamm, partition: Path, extra: bytes, expected: str
) -> None:
    file = partition / f"{SECOND}.log"
    file.write_bytes(file.read_bytes() + extra)

    found = problems(klamm, partition)

    assert len(found) == 1
    assert expected in found[0]


def test_segment_that_overlaps_the_one_before_is_found(klamm: Klamm, partition: Path) -> None:
    (partition / "00000000000000000006.log").write_bytes(b"")

    assert problems(klamm, partition) == ["begins at 6, but the segment before it ends at 7"]


@pytest.mark.parametrize(
    ("offset", "position", "expected"),
    [
        (3, 50, "offset 3 leads to byte 50, where no batch begins"),
        (1, 87, "offset 1 leads to the batch at 2"),
        (9, 87, "offset 9 leads to the batch at 2"),
    ],
)
def test_index_entry_that_misleads_is_found(
    klamm: Klamm, partition: Path, offset: int, position: int, expected: str
) -> None:
    index = OffsetIndex()
    index.append(offset, position)
    (partition / f"{FIRST}.index").write_bytes(index.to_bytes())

    assert problems(klamm, partition) == [expected]


@pytest.mark.parametrize(
    ("timestamp", "offset", "expected"),
    [
        (1500, 3, "a record before offset 3 is later than 1500"),
        (2000, 9, "offset 9 is not in the segment"),
    ],
)
def test_time_index_entry_that_misleads_is_found(
    klamm: Klamm, partition: Path, timestamp: int, offset: int, expected: str
) -> None:
    times = TimeIndex()
    times.append(timestamp, offset)
    (partition / f"{FIRST}.timeindex").write_bytes(times.to_bytes())

    assert problems(klamm, partition) == [expected]


def test_index_that_does_not_rise_is_found(klamm: Klamm, partition: Path) -> None:
    file = partition / f"{FIRST}.index"
    file.write_bytes(file.read_bytes()[:8] * 2)

    assert problems(klamm, partition) == ["the entry 3, 87 does not rise above 3, 87"]


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        (
            f"{SECOND}.txnindex",
            AbortedTransaction(8, 4, 6, 7).to_bytes(),
            "no abort marker of producer 8 at offset 6",
        ),
        (
            f"{SECOND}.snapshot",
            b"\0\1nonsense",
            "not a whole producer snapshot, or its checksum is wrong",
        ),
        (
            "partition.metadata",
            b"version: 0\ntopic_id: AAAA",
            "no topic id: a uuid has 16 bytes, not 3",
        ),
    ],
)
def test_damaged_companion_file_is_found(
    klamm: Klamm, partition: Path, name: str, data: bytes, expected: str
) -> None:
    (partition / name).write_bytes(data)

    assert problems(klamm, partition) == [expected]


def test_what_a_broker_leaves_behind_is_sound(klamm: Klamm) -> None:
    broker = start_klamm()
    lines = b"\n".join(b"%d" % number for number in range(2000))
    sent = klamm("produce", "orders", "-b", broker.address, "-p", "0", "-z", "lz4", stdin=lines)
    broker.stop(keep=True)

    answer = klamm("log", "verify", str(broker.data_dir), "--deep")

    assert sent.code == 0
    assert answer.code == 0
    orders = next(row for row in answer.rows if row["partition"] == "orders-0")
    assert (orders["records"], orders["end_offset"]) == (2000, 2000)
