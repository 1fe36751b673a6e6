"""A disk fails under a running broker: its directory goes offline, once and for good, and everything else goes on."""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chaos.real import mounts
from chaos.real.shim import NoCompiler, Shim
from chaos.real.two_disks import STORAGE_ERROR, TwoDisks, a_batch

from klamm.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from klamm.protocol.messages.metadata import MetadataRequest
from support.patience import eventually

Start = Callable[..., TwoDisks]


@pytest.fixture
def shim(tmp_path: Path) -> Shim:
    try:
        return Shim(tmp_path)
    except NoCompiler as e:
        pytest.skip(str(e))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[TwoDisks] = []

    def begin(**options: object) -> TwoDisks:
        started.append(TwoDisks(tmp_path, **options))  # type: ignore[arg-type]
        return started[-1]

    yield begin
    for disks in started:
        disks.__exit__()


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC], ids=errno.errorcode.get)
def test_a_write_that_fails(start: Start, shim: Shim, error: int):
    disks = start(environment=shim.environment)
    assert disks.produce("doomed", b"before") == 0
    assert disks.produce("safe", b"before") == 0

    shim.fail("pwrite", error, disks.doomed)

    disks.check_one_went_offline()
    shim.heal()
    assert disks.produce("doomed") == STORAGE_ERROR
    assert disks.stop() == 0
    disks.start_again()
    assert disks.values("doomed") == [b"before"]
    assert disks.produce("doomed", b"after") == 0


def test_a_sync_that_fails_is_final_and_acknowledges_nobody(start: Start, shim: Shim):
    """The second fsync of the kernel says that all is well, and it is not."""
    disks = start(environment=shim.environment, configs={"flush_messages": 1})
    assert disks.produce("doomed", b"before") == 0

    shim.fail("fsync", errno.EIO, disks.doomed, once=True)
    for value in (b"one", b"two", b"three"):
        disks.client.send_batch("doomed", 0, a_batch(value))
    errors = [disks.client.receive_offset()[0] for _ in range(3)]

    assert shim.has_struck
    assert errors == [STORAGE_ERROR] * 3
    disks.check_one_went_offline()
    assert disks.stop() == 0
    disks.start_again()
    assert disks.values("doomed")[0] == b"before"


def test_a_sync_by_the_clock_that_fails(start: Start, shim: Shim):
    disks = start(
        environment=shim.environment, settings={"log.flush.offset.checkpoint.interval.ms": 50}
    )

    shim.fail("fsync", errno.EIO, disks.doomed, once=True)

    def look() -> None:
        assert disks.produce("doomed", b"never synced") == STORAGE_ERROR

    eventually(look)
    assert shim.has_struck
    disks.check_one_went_offline()
    assert disks.stop() == 0


def test_a_read_that_fails(start: Start, shim: Shim):
    disks = start(environment=shim.environment)
    assert disks.produce("doomed", b"before") == 0

    shim.fail("pread", errno.EIO, disks.doomed)
    error, _, _ = disks.client.fetch("doomed", 0)

    assert error == STORAGE_ERROR
    disks.check_one_went_offline()
    assert disks.stop() == 0


@pytest.mark.parametrize("call", ["fsync", "pwrite"])
def test_the_metadata_log_fails(start: Start, shim: Shim, call: str):
    """What is known is still told, what would change it is refused."""
    disks = start(environment=shim.environment, metadata_is_doomed=True)

    shim.fail(call, errno.EIO, disks.doomed, once=True)
    new = CreateTopicsRequest(
        topics=[CreatableTopic(name="new", num_partitions=1, replication_factor=1)],
        timeout_ms=10_000,
    )
    answers = [disks.client.ask(new).topics[0].error_code for _ in range(2)]

    assert answers == [STORAGE_ERROR] * 2
    topics = disks.client.ask(MetadataRequest(topics=None)).topics
    assert {topic.name for topic in topics} == {"safe", "doomed"}
    assert disks.produce("safe", b"still there") == 0
    assert disks.values("safe") == [b"still there"]
    assert disks.produce("doomed") == STORAGE_ERROR
    assert disks.directory_errors() == {"safe": 0, "doomed": STORAGE_ERROR}
    assert "Traceback" not in disks.broker.log()
    assert disks.stop() != 0
    disks.start_again()
    assert disks.produce("doomed", b"again") == 0


def test_a_disk_that_is_full(start: Start, tmp_path: Path):
    small = tmp_path / "small" / "doomed"
    try:
        with mounts.small_disk(small, "2m"):
            disks = start(doomed=small)
            written = 0
            while not (error := disks.produce("doomed", b"x" * 100_000)):
                written += 1

            assert error == STORAGE_ERROR
            assert written >= 10
            disks.check_one_went_offline()
            assert disks.stop() == 0
            disks.start_again()
            assert disks.values("doomed") == [b"x" * 100_000] * written
            disks.broker.kill()
    except mounts.CannotMount as e:
        pytest.skip(str(e))


def test_a_disk_that_becomes_read_only(start: Start, tmp_path: Path):
    doomed = tmp_path / "mounted" / "doomed"
    try:
        with mounts.breakable_disk(doomed, tmp_path / "image"):
            disks = start(doomed=doomed)
            assert disks.produce("doomed", b"before") == 0

            mounts.break_disk(doomed)

            disks.check_one_went_offline()
            assert disks.stop() == 0
    except mounts.CannotMount as e:
        pytest.skip(str(e))


def test_a_metadata_log_that_nobody_changes_is_found_to_fail(start: Start, shim: Shim):
    """A leader writes now and then though it has nothing to say; that, too, may meet a broken disk."""
    disks = start(
        environment=shim.environment,
        metadata_is_doomed=True,
        settings={"metadata.max.idle.interval.ms": 50},
    )

    shim.fail("pwrite", errno.EIO, disks.doomed)

    def look() -> None:
        assert disks.directory_errors() == {"safe": 0, "doomed": STORAGE_ERROR}

    eventually(look)
    assert disks.produce("safe", b"still there") == 0
    assert "Traceback" not in disks.broker.log()
    assert disks.stop() != 0
