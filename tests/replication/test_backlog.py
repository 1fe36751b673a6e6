"""What a follower's session has to be told: only what changed, and all of it."""

from klamm.base.ids import ZERO_UUID
from klamm.replication.backlog import Backlog, Backlogs
from klamm.replication.fetch_sessions import FetchPartition
from replication.leading import LAG_MS, OTHER, a_leader, append, fetch


def asked(index: int = 0) -> FetchPartition:
    partition = FetchPartition("t", ZERO_UUID, index)
    partition.ask(offset=0, max_bytes=100, leader_epoch=0, last_fetched_epoch=-1)
    return partition


def a_backlog(*partitions: FetchPartition) -> tuple[Backlogs, Backlog]:
    backlogs = Backlogs()
    backlog = Backlog(backlogs, OTHER)
    for each in partitions:
        backlog.follow(each, ("t", each.index))
    return backlogs, backlog


def test_what_is_asked_for_is_looked_at_once() -> None:
    _, backlog = a_backlog(asked(0), asked(1))

    assert list(backlog.take()) == [("t", 0), ("t", 1)]
    assert backlog.take() == {}


def test_what_grows_is_looked_at_again() -> None:
    partition = a_leader()
    backlogs, backlog = a_backlog(asked(0), asked(1))
    backlog.take()
    heard: list[bool] = []
    backlog.on_change = heard.append

    backlogs.grew(partition)
    backlogs.learned(partition)

    assert (list(backlog.take()), heard) == ([("t", 0)], [True, False])


def test_what_is_forgotten_is_not() -> None:
    partition = a_leader()
    backlogs, backlog = a_backlog(asked(0), asked(1))

    backlog.forget(("t", 0))
    backlogs.grew(partition)

    assert list(backlog.take()) == [("t", 1)]
    backlog.close()
    assert backlogs.at == {}


def test_a_follower_whose_session_fetches_on_was_caught_up_until_the_log_grew() -> None:
    """Its fetches do not name a quiet partition; still it is in sync when the first record comes after hours."""
    partition = a_leader()
    fetch(partition, OTHER, 0)
    backlogs, backlog = a_backlog(asked(0))
    backlog.take()
    backlog.fetched_at = 100 * LAG_MS

    append(partition)
    backlogs.grew(partition)

    assert partition.leadership is not None
    assert partition.leadership.followers[OTHER].is_caught_up(1, 101 * LAG_MS, LAG_MS)


def test_a_follower_that_is_far_behind_is_not_caught_up_because_the_log_grew_between_two_of_its_fetches() -> (
    None
):
    """It was told what its fetch had room for, and asks on: the high watermark must not wait for it."""
    partition = a_leader()
    append(partition, 1000)
    backlogs, backlog = a_backlog(asked(0))
    now = 100 * LAG_MS
    for offset in (1, 2, 3):
        backlog.fetched_at = now = now + 1
        fetch(partition, OTHER, offset, now)
        backlog.take()
        append(partition)
        backlogs.grew(partition)

    assert partition.leadership is not None
    assert not partition.leadership.followers[OTHER].is_caught_up(1003, now, LAG_MS)
