"""Who wants many logs synced does not keep those waiting who want one."""

import asyncio
from collections.abc import Sequence

import pytest

from klamm.base.settings.topic import TopicSettings
from klamm.log import log as log_module
from klamm.log.log import Log
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.server.loops.flusher import Flusher
from klamm.server.world.threads import Threads
from klamm.testing.disk import MemoryDisk

NOW = 1_750_000_000_000


@pytest.fixture
def disk() -> MemoryDisk:
    disk = MemoryDisk()
    disk.mkdir("/data")
    return disk


def a_log(disk: MemoryDisk, number: int) -> Log:
    return Log.open(disk, f"/data/t-{number}", TopicSettings(), now=NOW, clean=True)


def some_logs(disk: MemoryDisk, count: int) -> list[Log]:
    logs = [a_log(disk, i) for i in range(count)]
    for log in logs:
        log.append(build_batch([Record(timestamp=NOW, value=b"v")]), leader_epoch=0, now=NOW)
    return logs


def flush_all(*wishes: Sequence[Log]) -> tuple[list[int], list[frozenset[Log]]]:
    """Which wish was fulfilled first, and what each was told to have failed."""
    order: list[int] = []
    told: dict[int, frozenset[Log]] = {}

    async def run() -> None:
        flusher = Flusher(Threads(), lambda log, error: None)

        def done(number: int, failed: frozenset[Log]) -> None:
            order.append(number)
            told[number] = failed

        for number, logs in enumerate(wishes):
            flusher.flush(logs, lambda failed, number=number: done(number, failed))  # type: ignore[misc]
        await flusher.close()

    asyncio.run(run())
    return order, [told[number] for number in range(len(wishes))]


def test_a_wish_for_one_log_is_fulfilled_before_one_for_very_many(disk: MemoryDisk) -> None:
    logs = some_logs(disk, 101)

    order, failed = flush_all(logs[:100], logs[100:])

    assert order == [1, 0]
    assert failed == [frozenset(), frozenset()]
    assert [log.recovery_point for log in logs] == [1] * 101


def test_a_sync_that_cannot_even_begin_has_failed(
    disk: MemoryDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "LANDMARK_BYTES", 1)
    logs = some_logs(disk, 3)
    disk.fail("pwrite", "t-1/00000000000000000000.index")

    _, failed = flush_all(logs)

    assert failed == [frozenset(logs[1:2])]
    assert [log.recovery_point for log in logs] == [1, 0, 1]


def test_everybody_hears_of_the_failures_of_its_own_logs(disk: MemoryDisk) -> None:
    logs = some_logs(disk, 70)
    disk.fail("fsync", "t-65/00000000000000000000.log")

    _, failed = flush_all(logs, logs[65:66], logs[:10], [])

    assert failed == [frozenset(logs[65:66]), frozenset(logs[65:66]), frozenset(), frozenset()]
    assert [log.recovery_point for log in logs].count(1) == 69
