"""A bit flips on the disk: below the recovery point that is an alarm and never a truncation; above it, the log is cut there."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos.power.model import read_all
from chaos.real.broker import BrokerProcess
from chaos.real.client import Client

from klamm.base.errors import ErrorCode
from klamm.base.settings.topic import TopicSettings
from klamm.log.log import Log
from klamm.log.results import DamagedLog
from klamm.protocol.records.batch import batches, check_crc
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.testing.disk import MemoryDisk
from support.patience import eventually

DIRECTORY = "/data/orders-0"
FILE = f"{DIRECTORY}/00000000000000000000.log"
NOW = 1_750_000_000_000
SAFE, ALL = 6, 9
# Fields of a batch that its checksum does not cover, other than the length, which makes itself felt.
_OFFSET, _LEADER_EPOCH = range(8), range(12, 16)
_HEADER_BITS = range(61 * 8)
_BODY_BITS = range(61 * 8, 70 * 8, 5)


def a_batch(value: bytes, at: int = NOW) -> bytearray:
    return build_batch([Record(timestamp=at, value=value)] * 2)


SIZE = len(a_batch(b"v" * 20))


def a_crashed_log() -> MemoryDisk:
    """Nine batches of two records; a sync has made six of them safe."""
    disk = MemoryDisk()
    log = Log.open(disk, DIRECTORY, TopicSettings(), now=NOW, clean=False)
    for number in range(ALL):
        log.append(a_batch(b"%020d" % number), leader_epoch=0, now=NOW)
        if number + 1 == SAFE:
            flush = log.begin_flush()
            assert flush is not None
            flush.run()
            log.end_flush(flush)
    return disk


def open_again(disk: MemoryDisk) -> Log:
    return Log.open(disk, DIRECTORY, TopicSettings(), now=NOW, clean=False, recovery_point=2 * SAFE)


def flip(disk: MemoryDisk, bit: int) -> bytes:
    file = disk.open(FILE)
    (byte,) = file.pread(1, bit // 8)
    file.pwrite(bytes([byte ^ (1 << bit % 8)]), bit // 8)
    return disk.read(FILE)


@pytest.mark.parametrize("batch", [0, 2, SAFE - 1])
def test_below_the_recovery_point_nothing_is_cut_whichever_bit_it_is(batch: int):
    original = a_crashed_log()
    untouched = read_all(open_again(original.fork()))
    for bit in [*_HEADER_BITS, *_BODY_BITS]:
        disk = original.fork()
        content = flip(disk, batch * SIZE * 8 + bit)
        try:
            log = open_again(disk)
        except DamagedLog:
            pass
        else:
            assert log.recovered.cut_bytes == 0, f"bit {bit}"
            assert log.end_offset == 2 * ALL, f"bit {bit}"
            is_told = log.recovered.damaged == (2 * batch,)
            assert is_told or bit // 8 in _LEADER_EPOCH, f"bit {bit}"
            others = [each for each in untouched if each.base != 2 * batch]
            assert [each for each in read_all(log) if each.base != 2 * batch] == others
        assert disk.read(FILE) == content, f"bit {bit}"


@pytest.mark.parametrize("batch", [SAFE, ALL - 1])
def test_above_the_recovery_point_the_log_is_cut_at_the_batch(batch: int):
    original = a_crashed_log()
    untouched = read_all(open_again(original.fork()))
    for bit in [*_HEADER_BITS, *_BODY_BITS]:
        if bit // 8 in (*_OFFSET, *_LEADER_EPOCH):
            continue
        disk = original.fork()
        flip(disk, batch * SIZE * 8 + bit)

        log = open_again(disk)

        assert log.end_offset == 2 * batch, f"bit {bit}"
        assert read_all(log) == untouched[:batch]


# The same with a real broker --------------------------------------------------------------------


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """With a damaged topic, which is synced, and a healthy one; killed."""
    broker = BrokerProcess(tmp_path, settings={"log.flush.offset.checkpoint.interval.ms": 40})
    broker.start()
    now = int(time.time() * 1000)
    with Client(broker.address) as client:
        for topic in ("hurt", "well"):
            client.create_topic(topic)
            for number in range(ALL):
                assert client.produce(topic, a_batch(b"%020d" % number, now))[0] == 0
    checkpoint = broker.directories[0] / "recovery-point-offset-checkpoint"

    def look() -> None:
        assert checkpoint.exists()
        assert f"hurt 0 {2 * ALL}\n" in checkpoint.read_text()

    eventually(look)
    broker.kill()
    yield broker
    broker.kill()


def hurt_file(broker: BrokerProcess) -> Path:
    return broker.directories[0] / "hurt-0" / "00000000000000000000.log"


def flip_in_file(file: Path, position: int) -> bytes:
    content = bytearray(file.read_bytes())
    content[position] ^= 1
    file.write_bytes(content)
    return bytes(content)


def errors_in(broker: BrokerProcess) -> list[str]:
    return [line for line in broker.log().splitlines() if " ERROR " in line]


def test_a_broker_tells_of_a_damaged_batch_and_serves_what_is_there(broker: BrokerProcess):
    content = flip_in_file(hurt_file(broker), 2 * SIZE + SIZE - 1)

    broker.start()

    with Client(broker.address) as client:
        error, data, end = client.fetch("hurt", 0)
        assert (error, end) == (ErrorCode.NONE, 2 * ALL)
        found = list(batches(data))
        assert [header.base_offset for header, _ in found] == list(range(0, 2 * ALL, 2))
        # Every client sees which one it is, by the checksum.
        assert [check_crc(batch) for _, batch in found].count(False) == 1
        assert client.fetch("well", 0)[2] == 2 * ALL
        assert client.produce("well", a_batch(b"later"))[0] == 0
    (line,) = errors_in(broker)
    assert "hurt-0" in line
    assert hurt_file(broker).read_bytes() == content


def test_a_log_that_cannot_be_read_on_stays_as_it_is_however_often_the_broker_starts(
    broker: BrokerProcess,
):
    """The checkpoint must not forget what was safe: without it the second start would cut the log."""
    content = flip_in_file(hurt_file(broker), 2 * SIZE + 8)  # the length

    for starts in (1, 2, 3):
        broker.start()
        with Client(broker.address) as client:
            assert client.fetch("hurt", 0)[0] == ErrorCode.KAFKA_STORAGE_ERROR
            assert client.produce("hurt", a_batch(b"later"))[0] == ErrorCode.KAFKA_STORAGE_ERROR
            _until_checkpointed(broker, client, 2 * ALL + 2 * starts)
        broker.kill()

    assert len(errors_in(broker)) == 3
    assert hurt_file(broker).read_bytes() == content


def _until_checkpointed(broker: BrokerProcess, client: Client, end: int) -> None:
    assert client.produce("well", a_batch(b"later"))[0] == 0
    checkpoint = broker.directories[0] / "recovery-point-offset-checkpoint"

    def look() -> None:
        assert f"well 0 {end}\n" in checkpoint.read_text()

    eventually(look)
