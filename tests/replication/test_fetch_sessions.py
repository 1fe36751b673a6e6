"""KIP-227: full fetches make sessions, incremental ones change them, stale ones are refused."""

import itertools

import pytest

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import ZERO_UUID
from klamm.replication.fetch_sessions import EVICTABLE_AFTER_MS, FetchPartition, FetchSessions


def some_sessions(slots: int = 2) -> FetchSessions:
    ids = itertools.count(7)
    return FetchSessions(slots, lambda: next(ids))


def asking(topic: str, index: int = 0, offset: int = 0) -> FetchPartition:
    partition = FetchPartition(topic, ZERO_UUID, index)
    partition.ask(offset=offset, max_bytes=1000, leader_epoch=-1, last_fetched_epoch=-1)
    return partition


def test_a_fetch_without_session_leaves_nothing_behind() -> None:
    sessions = some_sessions()

    context = sessions.begin(0, -1, [asking("t")], uses_ids=False, now=0)

    assert context.session_id == 0
    assert len(sessions) == 0


def test_a_full_fetch_opens_a_session_that_the_next_ones_build_on() -> None:
    sessions = some_sessions()
    opened = sessions.begin(0, 0, [asking("t", 0), asking("t", 1)], uses_ids=False, now=0)

    context = sessions.begin(
        opened.session_id, 1, [asking("t", 1, offset=5)], uses_ids=False, now=0
    )

    assert context.is_incremental
    assert [(p.index, p.offset) for p in context.partitions] == [(0, 0), (1, 5)]


def test_forgotten_partitions_are_not_read_again() -> None:
    sessions = some_sessions()
    opened = sessions.begin(0, 0, [asking("t", 0), asking("t", 1)], uses_ids=False, now=0)

    context = sessions.begin(opened.session_id, 1, [], [("t", 0)], uses_ids=False, now=0)

    assert [p.index for p in context.partitions] == [1]


@pytest.mark.parametrize(
    ("session", "epoch", "code"),
    [
        (99, 1, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (7, 2, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (7, 5, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
    ],
)
def test_an_unknown_session_and_a_wrong_epoch_are_refused(
    session: int, epoch: int, code: ErrorCode
) -> None:
    sessions = some_sessions()
    sessions.begin(0, 0, [asking("t")], uses_ids=False, now=0)

    with pytest.raises(ApiError) as refused:
        sessions.begin(session, epoch, [], uses_ids=False, now=0)

    assert refused.value.code == code


def test_the_final_epoch_closes_the_session() -> None:
    sessions = some_sessions()
    opened = sessions.begin(0, 0, [asking("t")], uses_ids=False, now=0)

    sessions.begin(opened.session_id, -1, [], uses_ids=False, now=0)

    assert len(sessions) == 0


def test_without_a_free_place_a_client_gets_no_session() -> None:
    sessions = some_sessions(slots=1)
    sessions.begin(0, 0, [asking("t")], uses_ids=False, now=0)

    assert sessions.begin(0, 0, [asking("u")], uses_ids=False, now=1).session_id == 0


def test_a_session_idle_for_long_gives_up_its_place() -> None:
    sessions = some_sessions(slots=1)
    old = sessions.begin(0, 0, [asking("t")], uses_ids=False, now=0)

    new = sessions.begin(0, 0, [asking("u")], uses_ids=False, now=EVICTABLE_AFTER_MS)

    assert new.session_id not in (0, old.session_id)
    assert len(sessions) == 1


def test_sessions_hold_only_so_many_partitions_together() -> None:
    sessions = FetchSessions(10, iter(range(1, 100)).__next__, max_partitions=5)
    three = [asking("t", index) for index in range(3)]

    first = sessions.begin(0, 0, three, uses_ids=False, now=0)
    second = sessions.begin(0, 0, three, uses_ids=False, now=0)

    assert first.session is not None
    assert second.session is None
    more = [asking("u", index) for index in range(3)]
    with pytest.raises(ApiError) as refused:
        sessions.begin(first.session_id, 1, more, uses_ids=False, now=0)
    assert refused.value.code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(sessions) == 0


def test_a_partition_named_twice_is_read_once() -> None:
    sessions = some_sessions()

    context = sessions.begin(0, -1, [asking("t"), asking("t")], uses_ids=False, now=0)

    assert len(context.partitions) == 1


def test_a_partition_has_news_only_when_something_changed() -> None:
    partition = asking("t")

    assert partition.has_news(0, high_watermark=5, log_start=0, size=0)
    assert not partition.has_news(0, high_watermark=5, log_start=0, size=0)
    assert partition.has_news(0, high_watermark=6, log_start=0, size=0)
    assert partition.has_news(0, high_watermark=6, log_start=1, size=0)
    assert partition.has_news(0, high_watermark=6, log_start=1, size=10)


def test_after_an_error_the_client_hears_from_the_partition_again() -> None:
    partition = asking("t")
    partition.has_news(0, high_watermark=5, log_start=0, size=0)

    assert partition.has_news(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1, 0)
    assert partition.has_news(0, high_watermark=5, log_start=0, size=0)


def test_a_served_partition_queues_up_at_the_back() -> None:
    sessions = some_sessions()
    opened = sessions.begin(
        0, 0, [asking("t", 0), asking("t", 1), asking("t", 2)], uses_ids=False, now=0
    )
    assert opened.session is not None

    opened.session.move_to_back(opened.partitions[0])

    context = sessions.begin(opened.session_id, 1, [], uses_ids=False, now=0)
    assert [p.index for p in context.partitions] == [1, 2, 0]
