"""What a follower asks of its leader, and what it makes of the answers."""

from dataclasses import replace

import pytest

from klamm.base.clock import Now
from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import TopicPartition, Uuid
from klamm.base.settings.replication import ReplicationSettings
from klamm.base.settings.topic import TopicSettings
from klamm.log.log import Log
from klamm.log.results import Origin
from klamm.metadata.image import PartitionImage
from klamm.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from klamm.protocol.records.batch import stamp
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.reader import Record
from klamm.replication.fetcher import Outcome, ReplicaFetcher
from klamm.replication.follower import append_fetched, truncate_fully_and_start_at, truncate_to
from klamm.replication.partition import Partition
from klamm.testing.disk import MemoryDisk

ORDERS = Uuid(b"o" * 16)
US, LEADER = 2, 1
AT = Now(1_000, 1_700_000_000_000)
SETTINGS = ReplicationSettings()
EPOCH = 5
FOLLOWED = PartitionImage(
    replicas=(LEADER, US), isr=(LEADER, US), leader=LEADER, leader_epoch=EPOCH, partition_epoch=1
)


def batch(offset: int, *values: bytes, epoch: int = EPOCH) -> bytearray:
    """As a leader sends it."""
    data = build_batch([Record(timestamp=AT.wall, value=value) for value in values or (b"v",)])
    stamp(data, 0, offset, epoch)
    return data


def a_follower(index: int = 0, *batches: bytearray, state: PartitionImage = FOLLOWED) -> Partition:
    log = Log.open(
        MemoryDisk(),
        f"/data/orders-{index}",
        TopicSettings(),
        now=AT.wall,
        clean=True,
        topic_id=ORDERS,
    )
    for each in batches:
        log.append(each, leader_epoch=99, now=AT.wall, origin=Origin.REPLICATION)
    partition = Partition(TopicPartition("orders", index), ORDERS, log, TopicSettings())
    partition.make_follower(state)
    return partition


def a_fetcher(*partitions: Partition) -> ReplicaFetcher:
    fetcher = ReplicaFetcher(US, SETTINGS)
    for each in partitions:
        fetcher.add(each)
    return fetcher


def answer(*parts: PartitionData, session: int = 7, error: int = 0) -> FetchResponse:
    topics = [FetchableTopicResponse(topic_id=ORDERS, partitions=list(parts))] if parts else []
    return FetchResponse(session_id=session, error_code=error, responses=topics)


def part(index: int = 0, *batches: bytearray, **facts: object) -> PartitionData:
    data = PartitionData(partition_index=index, log_start_offset=0, **facts)  # type: ignore[arg-type]
    data.records = memoryview(bytearray(b"".join(batches)))
    return data


def ask(fetcher: ReplicaFetcher, now: int = AT.monotonic) -> FetchRequest:
    request = fetcher.request(broker_epoch=40, now=now)
    assert request is not None
    return request


def give(fetcher: ReplicaFetcher, response: FetchResponse) -> list[Outcome]:
    fetcher.answered(response)
    return [fetcher.take(fetched, data, AT) for fetched, data in fetcher.parts(response)]


def named(request: FetchRequest) -> list[tuple[int, int]]:
    """(partition, offset) of what the request names."""
    return [
        (each.partition, each.fetch_offset) for topic in request.topics for each in topic.partitions
    ]


def forgotten(request: FetchRequest) -> list[int]:
    return [index for topic in request.forgotten_topics_data for index in topic.partitions]


# Asking


def test_a_follower_says_who_it_is_and_where_its_log_stands():
    follower = a_follower(0, batch(0, b"a", b"b", epoch=3))

    request = ask(a_fetcher(follower))

    (topic,) = request.topics
    (asked,) = topic.partitions
    assert (topic.topic_id, asked.partition) == (ORDERS, 0)
    assert (request.replica_state.replica_id, request.replica_state.replica_epoch) == (US, 40)
    assert (asked.fetch_offset, asked.last_fetched_epoch) == (2, 3)
    assert (asked.current_leader_epoch, asked.log_start_offset) == (EPOCH, 0)
    assert asked.partition_max_bytes == SETTINGS.fetch_max_bytes
    assert (request.max_wait_ms, request.min_bytes) == (500, 1)
    assert request.max_bytes == SETTINGS.fetch_response_max_bytes
    assert (request.session_id, request.session_epoch) == (0, 0)


def test_an_empty_log_has_no_last_epoch():
    request = ask(a_fetcher(a_follower()))

    assert request.topics[0].partitions[0].last_fetched_epoch == -1


def test_there_is_nothing_to_ask_without_partitions():
    assert a_fetcher().request(broker_epoch=1, now=0) is None


def test_in_a_session_only_what_changed_is_named():
    fetcher = a_fetcher(*map(a_follower, range(3)))
    assert named(ask(fetcher)) == [(0, 0), (1, 0), (2, 0)]

    give(fetcher, answer(part(1, batch(0), batch(1))))
    following = ask(fetcher)
    give(fetcher, answer())
    quiet = ask(fetcher)

    assert (following.session_id, following.session_epoch) == (7, 1)
    assert named(following) == [(1, 2)]
    assert (quiet.session_id, quiet.session_epoch) == (7, 2)
    assert named(quiet) == []


def test_without_a_session_everything_is_named_every_time():
    fetcher = a_fetcher(a_follower(0), a_follower(1))
    ask(fetcher)

    give(fetcher, answer(part(0, batch(0)), session=0))

    request = ask(fetcher)
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert named(request) == [(0, 1), (1, 0)]


@pytest.mark.parametrize(
    ("error", "session"),
    [
        (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0),
        # The leader has it still: this closes it.
        (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 7),
        (ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, 7),
    ],
)
def test_an_error_of_the_session_begins_it_anew(error: ErrorCode, session: int):
    fetcher = a_fetcher(a_follower(0), a_follower(1))
    ask(fetcher)
    give(fetcher, answer())
    ask(fetcher)

    assert fetcher.answered(answer(session=0, error=error)) is error

    request = ask(fetcher)
    assert (request.session_id, request.session_epoch) == (session, 0)
    assert named(request) == [(0, 0), (1, 0)]


def test_an_answer_that_never_came_begins_the_session_anew():
    fetcher = a_fetcher(a_follower(0))
    ask(fetcher)
    give(fetcher, answer())
    ask(fetcher)

    fetcher.lost()

    request = ask(fetcher)
    assert (request.session_id, request.session_epoch) == (7, 0)
    assert named(request) == [(0, 0)]


def test_a_partition_that_joins_is_named_and_one_that_leaves_is_forgotten():
    first, second = a_follower(0), a_follower(1)
    fetcher = a_fetcher(first)
    ask(fetcher)
    give(fetcher, answer())

    fetcher.add(second)
    fetcher.remove(first)

    request = ask(fetcher)
    assert named(request) == [(1, 0)]
    assert forgotten(request) == [0]


def test_one_that_comes_back_before_it_was_forgotten_is_not_forgotten():
    follower = a_follower(0)
    fetcher = a_fetcher(follower)
    ask(fetcher)
    give(fetcher, answer())

    fetcher.remove(follower)
    fetcher.add(follower)

    request = ask(fetcher)
    assert named(request) == [(0, 0)]
    assert forgotten(request) == []


def test_one_that_was_never_in_the_session_is_not_forgotten():
    fetcher = a_fetcher(a_follower(0))
    ask(fetcher)
    give(fetcher, answer())
    late = a_follower(1)

    fetcher.add(late)
    fetcher.remove(late)

    assert forgotten(ask(fetcher)) == []


def test_a_new_leader_epoch_is_told():
    follower = a_follower(0)
    fetcher = a_fetcher(follower)
    ask(fetcher)
    give(fetcher, answer())

    follower.make_follower(replace(FOLLOWED, leader_epoch=6, partition_epoch=2))
    fetcher.add(follower)

    assert ask(fetcher).topics[0].partitions[0].current_leader_epoch == 6


def test_a_log_start_that_retention_moved_is_told():
    follower = a_follower(0, batch(0), batch(1))
    fetcher = a_fetcher(follower)
    ask(fetcher)
    give(fetcher, answer())

    follower.log.advance_start(1)
    fetcher.started_later(follower)

    assert ask(fetcher).topics[0].partitions[0].log_start_offset == 1


# Answers


def test_what_was_fetched_is_appended_as_it_is():
    follower = a_follower(0, batch(0, epoch=3))
    fetcher = a_fetcher(follower)
    ask(fetcher)
    sent = batch(1, b"a", b"b") + batch(3, b"c")

    outcomes = give(fetcher, answer(part(0, sent, high_watermark=2)))

    kept = follower.log.read(1, 10_000, up_to=10)
    assert outcomes == [Outcome.COMMITTED]
    assert kept is not None
    assert kept.read() == bytes(sent)
    assert follower.high_watermark == 2
    assert follower.log.epochs.entries == ((3, 0), (EPOCH, 1))


def test_the_high_watermark_is_not_above_the_own_end():
    follower = a_follower(0)
    fetcher = a_fetcher(follower)
    ask(fetcher)

    give(fetcher, answer(part(0, batch(0), high_watermark=90)))

    assert follower.high_watermark == 1


def test_an_answer_without_records_moves_the_watermark():
    follower = a_follower(0, batch(0), batch(1))
    fetcher = a_fetcher(follower)
    ask(fetcher)

    assert give(fetcher, answer(part(0, high_watermark=2))) == [Outcome.COMMITTED]
    assert follower.high_watermark == 2
    assert named(ask(fetcher)) == []


def test_the_log_start_follows_the_leaders():
    follower = a_follower(0, batch(0), batch(1))
    fetcher = a_fetcher(follower)
    ask(fetcher)
    moved = part(0, high_watermark=2)
    moved.log_start_offset = 1

    give(fetcher, answer(moved))

    assert follower.log.start_offset == 1
    assert ask(fetcher).topics[0].partitions[0].log_start_offset == 1


def test_an_answer_of_an_older_epoch_is_dropped_and_all_is_asked_again():
    follower = a_follower(0)
    fetcher = a_fetcher(follower, a_follower(1))
    ask(fetcher)
    follower.make_follower(replace(FOLLOWED, leader_epoch=6, partition_epoch=2))

    assert give(fetcher, answer(part(0, batch(0)))) == [Outcome.DROPPED]

    assert follower.log.end_offset == 0
    assert ask(fetcher).session_epoch == 0


def test_an_answer_to_a_question_from_before_a_cut_is_dropped():
    follower = a_follower(0, batch(0), batch(1))
    fetcher = a_fetcher(follower)
    ask(fetcher)
    follower.log.truncate_to(1)

    assert give(fetcher, answer(part(0, batch(2)))) == [Outcome.DROPPED]
    assert follower.log.end_offset == 1


def test_an_answer_for_a_partition_that_left_is_passed_over():
    follower = a_follower(0)
    fetcher = a_fetcher(follower)
    ask(fetcher)
    fetcher.remove(follower)

    assert give(fetcher, answer(part(0, batch(0)))) == []


def test_a_batch_within_which_the_leaders_log_starts_is_taken_whole():
    follower = a_follower(0)
    truncate_fully_and_start_at(follower, 2, EPOCH)
    fetcher = a_fetcher(follower)
    assert named(ask(fetcher)) == [(0, 2)]
    sent = part(0, batch(0, b"a", b"b", b"c"), high_watermark=3)
    sent.log_start_offset = 2

    assert give(fetcher, answer(sent)) == [Outcome.COMMITTED]
    assert (follower.log.start_offset, follower.log.end_offset) == (2, 3)


# Errors


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ],
)
def test_a_leader_that_does_not_know_it_yet_is_asked_again_soon_and_then_less_often(error):
    fetcher = a_fetcher(a_follower(0), a_follower(1))
    ask(fetcher)

    assert give(fetcher, answer(part(0, error_code=error))) == [Outcome.DELAYED]
    meanwhile = ask(fetcher)
    again = ask(fetcher, now=AT.monotonic + 20)
    give(fetcher, answer(part(0, error_code=error)))

    assert (named(meanwhile), forgotten(meanwhile)) == ([], [0])
    # The others are not kept waiting for longer than this one's pause.
    assert meanwhile.max_wait_ms == 20
    assert named(again) == [(0, 0)]
    assert fetcher.next_pause_ends() == AT.monotonic + 40


@pytest.mark.parametrize("error", [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.CORRUPT_MESSAGE, 9999])
def test_any_other_error_is_a_pause_of_a_second(error):
    fetcher = a_fetcher(a_follower(0))
    ask(fetcher)

    assert give(fetcher, answer(part(0, error_code=error))) == [Outcome.DELAYED]

    assert fetcher.next_pause_ends() == AT.monotonic + SETTINGS.fetch_backoff_ms


def test_new_metadata_ends_a_pause():
    follower = a_follower(0)
    fetcher = a_fetcher(follower)
    ask(fetcher)
    give(fetcher, answer(part(0, error_code=ErrorCode.FENCED_LEADER_EPOCH)))

    follower.make_follower(replace(FOLLOWED, leader_epoch=6, partition_epoch=2))
    fetcher.add(follower)

    assert named(ask(fetcher)) == [(0, 0)]
    assert fetcher.next_pause_ends() is None


def test_bytes_that_are_damaged_on_the_way_are_not_appended():
    follower = a_follower(0)
    fetcher = a_fetcher(follower)
    ask(fetcher)
    sent = batch(0, b"abc")
    sent[-2] ^= 1

    assert give(fetcher, answer(part(0, sent))) == [Outcome.DELAYED]
    assert follower.log.end_offset == 0


def test_a_partition_whose_disk_failed_is_not_fetched_any_more():
    follower = a_follower(0)
    fetcher = a_fetcher(follower)
    ask(fetcher)
    follower.go_offline()

    assert give(fetcher, answer(part(0, batch(0)))) == [Outcome.GONE]
    assert len(fetcher) == 0


# Divergence


def diverging(epoch: int, end: int) -> PartitionData:
    return part(0, diverging_epoch=EpochEndOffset(epoch=epoch, end_offset=end))


@pytest.mark.parametrize(
    ("leaders", "cut_at"),
    [
        # Our last epoch is the leader's, too, and ends earlier there.
        ((4, 4), 4),
        # It never had our last one, and all of the one before is common.
        ((2, 3), 3),
        ((2, 2), 2),
        # It has one that we do not: we cut where the one below it ends here, and ask again.
        ((3, 9), 3),
        # All of ours is newer than what the leader has.
        ((0, 0), 0),
    ],
)
def test_a_log_that_went_another_way_is_cut_where_the_ways_part(leaders, cut_at):
    # Epoch 1 at 0, 2 at 1 and 2, 4 at 3 and 4.
    written = [batch(offset, epoch=epoch) for offset, epoch in enumerate((1, 2, 2, 4, 4))]
    follower = a_follower(0, *written)
    fetcher = a_fetcher(follower)
    ask(fetcher)

    assert give(fetcher, answer(diverging(*leaders))) == [Outcome.TRUNCATE]

    fetched = fetcher.find(follower)
    assert fetched is not None
    assert fetched.cut_at == cut_at


def test_a_partition_is_left_out_until_its_log_is_cut():
    follower = a_follower(0, batch(0, epoch=1), batch(1, epoch=2))
    fetcher = a_fetcher(follower)
    ask(fetcher)
    give(fetcher, answer(diverging(1, 1)))
    meanwhile = ask(fetcher)
    fetched = fetcher.find(follower)
    assert fetched is not None

    truncate_to(follower, fetched.cut_at, EPOCH)
    fetcher.resume(fetched)

    asked = ask(fetcher).topics[0].partitions[0]
    assert forgotten(meanwhile) == [0]
    assert (asked.fetch_offset, asked.last_fetched_epoch) == (1, 1)


def test_an_epoch_in_which_we_led_without_a_record_is_forgotten():
    follower = a_follower(0, batch(0, epoch=1))
    follower.log.epochs.assign(4, 1)
    fetcher = a_fetcher(follower)
    assert ask(fetcher).topics[0].partitions[0].last_fetched_epoch == 4
    give(fetcher, answer(diverging(1, 1)))
    fetched = fetcher.find(follower)
    assert fetched is not None

    truncate_to(follower, fetched.cut_at, EPOCH)
    fetcher.resume(fetched)

    assert ask(fetcher).topics[0].partitions[0].last_fetched_epoch == 1


def test_a_divergence_that_no_cut_would_mend_is_a_pause():
    follower = a_follower(0, batch(0, epoch=1))
    fetcher = a_fetcher(follower)
    ask(fetcher)

    assert give(fetcher, answer(diverging(1, 5))) == [Outcome.DELAYED]


# A log that has nothing in common with the leader's


@pytest.mark.parametrize(
    ("start", "end", "cut_at", "begins_anew"),
    [
        # The leader was elected uncleanly, and lost more than we: its end is where we go on.
        (0, 1, 1, False),
        # We were away until all that we have was deleted there.
        (10, 20, 10, True),
    ],
)
def test_out_of_range_asks_where_the_leaders_log_is(start, end, cut_at, begins_anew):
    follower = a_follower(0, batch(0), batch(1), batch(2))
    fetcher = a_fetcher(follower)
    ask(fetcher)

    outcomes = give(fetcher, answer(part(0, error_code=ErrorCode.OFFSET_OUT_OF_RANGE)))
    fetched = fetcher.find(follower)
    assert fetched is not None

    assert outcomes == [Outcome.LOCATE]
    assert fetcher.located(fetched, start, end) is Outcome.TRUNCATE
    assert (fetched.cut_at, fetched.begins_anew) == (cut_at, begins_anew)


def test_out_of_range_that_is_over_meanwhile_is_fetched_on():
    follower = a_follower(0, batch(0))
    fetcher = a_fetcher(follower)
    ask(fetcher)
    give(fetcher, answer(part(0, error_code=ErrorCode.OFFSET_OUT_OF_RANGE)))
    fetched = fetcher.find(follower)
    assert fetched is not None

    assert fetcher.located(fetched, 0, 5) is Outcome.TAKEN


def test_what_is_no_longer_ours_is_neither_written_to_nor_cut():
    """Its files are gone: the disk would seem to fail, and with it all that is in the directory."""
    follower = a_follower(0, batch(0, b"a", b"b"))
    follower.retire()

    with pytest.raises(ApiError) as written:
        append_fetched(
            follower, batch(2), leader_epoch=EPOCH, high_watermark=2, log_start=0, now=AT.wall
        )
    with pytest.raises(ApiError) as cut:
        truncate_to(follower, 1, EPOCH)

    assert {written.value.code, cut.value.code} == {ErrorCode.FENCED_LEADER_EPOCH}
    assert follower.log.end_offset == 2
