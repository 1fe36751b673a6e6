"""A leader and its followers: what is committed, who is in sync, and what a change of either may not do."""

import pytest

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.settings.topic import TopicSettings
from klamm.log.log import Log
from klamm.protocol.records.builder import build_batch
from klamm.protocol.records.control import EndMarker, end_marker_batch
from klamm.protocol.records.reader import Record
from klamm.replication.follower import append_fetched, truncate_to
from klamm.replication.isr import BrokerInIsr
from klamm.replication.partition import Isolation, Partition, Role
from klamm.replication.verification import Verification
from replication.leading import (
    EPOCHS,
    LAG_MS,
    OTHER,
    THIRD,
    TOPIC_ID,
    US,
    WALL,
    a_batch_of,
    a_leader,
    a_partition,
    a_state,
    append,
    code_of,
    fetch,
    lead,
)

# -- the high watermark -------------------------------------------------------------------------------------------------


def test_what_is_appended_is_committed_when_all_in_sync_have_it() -> None:
    partition = a_leader()
    append(partition, 3)
    assert partition.high_watermark == 0

    assert not fetch(partition, OTHER, 3)
    assert fetch(partition, THIRD, 2)

    assert partition.high_watermark == 2


def test_a_change_of_the_isr_alone_does_not_move_the_high_watermark() -> None:
    """Mistake 1: the leader is not made anew, and nobody who is still in sync is forgotten."""
    partition = a_leader()
    append(partition, 5)
    fetch(partition, THIRD, 0)
    fetch(partition, OTHER, 0)

    assert not lead(partition, a_state(isr=(US, OTHER), partition_epoch=1), now=LAG_MS + 1)

    assert (partition.high_watermark, partition.isr) == (0, (US, OTHER))
    fetch(partition, OTHER, 4, now=LAG_MS + 1)
    assert partition.high_watermark == 4


def test_alone_in_the_isr_a_leader_commits_by_itself() -> None:
    partition = a_leader()
    append(partition, 2)

    lead(partition, a_state(isr=(US,), partition_epoch=1), now=LAG_MS + 1)

    assert partition.high_watermark == 2
    append(partition)
    assert partition.high_watermark == 3


def test_below_the_least_isr_nothing_is_committed() -> None:
    partition = a_leader(isr=(US,), min_isr=2)

    append(partition, acks=1)

    assert partition.high_watermark == 0
    with pytest.raises(ApiError) as refused:
        append(partition, acks=-1)
    assert code_of(refused) == ErrorCode.NOT_ENOUGH_REPLICAS


def test_a_new_leader_begins_with_the_high_watermark_that_it_had() -> None:
    partition = a_partition()
    partition.make_follower(a_state(leader=OTHER))
    batch = build_batch([Record(timestamp=WALL, value=b"v")] * 4)
    append_fetched(partition, batch, leader_epoch=0, high_watermark=2, log_start=0, now=WALL)

    lead(partition, a_state(epoch=1))

    assert partition.high_watermark == 2
    assert partition.end_of_epoch(0) == (0, 4)


def test_a_high_watermark_that_was_written_down_is_where_a_leader_begins() -> None:
    partition = a_partition()
    lead(partition, a_state(replicas=(US,), isr=(US,)))
    append(partition, 5)

    again = Partition(partition.name, TOPIC_ID, partition.log, partition.settings, high_watermark=3)
    lead(again, a_state(epoch=1))

    assert again.high_watermark == 3


def test_who_is_about_to_join_is_waited_for() -> None:
    partition = a_leader(isr=(US, OTHER))
    append(partition, 2)
    fetch(partition, THIRD, 2)
    fetch(partition, OTHER, 2)
    proposal = partition.isr_changes(now=0, broker_epoch=EPOCHS[US])
    assert proposal is not None

    append(partition)
    fetch(partition, OTHER, 3)

    assert partition.high_watermark == 2
    fetch(partition, THIRD, 3)
    assert partition.high_watermark == 3


def test_the_high_watermark_never_falls() -> None:
    partition = a_leader()
    append(partition, 3)
    fetch(partition, OTHER, 3)
    fetch(partition, THIRD, 3)

    assert not fetch(partition, THIRD, 1)

    assert partition.high_watermark == 3


def test_offsets_are_not_known_before_the_epochs_start_is_committed() -> None:
    """Mistake 8: a new leader would tell an end below the one that clients have seen."""
    partition = a_partition()
    partition.make_follower(a_state(leader=OTHER))
    batch = build_batch([Record(timestamp=WALL, value=b"v")] * 4)
    append_fetched(partition, batch, leader_epoch=0, high_watermark=1, log_start=0, now=WALL)
    lead(partition, a_state(epoch=1))
    assert partition.is_behind_epoch

    fetch(partition, OTHER, 4)
    fetch(partition, THIRD, 4)

    assert not partition.is_behind_epoch


# -- transactions -------------------------------------------------------------------------------------------------------


def test_the_end_of_a_transaction_counts_when_it_is_committed() -> None:
    """Mistake 5: a leader without the marker would open the transaction again."""
    partition = a_leader()
    batch = build_batch(
        [Record(timestamp=WALL, value=b"v")],
        transactional=True,
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
    )
    partition.append(batch, acks=-1, now=WALL)
    for each in (OTHER, THIRD):
        fetch(partition, each, 1)
    assert (partition.high_watermark, partition.last_stable_offset) == (1, 0)

    partition.append_marker(EndMarker(True, 0), 7, 1, client_version=2, now=WALL)

    assert partition.visible_end(Isolation.READ_COMMITTED) == 0
    for each in (OTHER, THIRD):
        fetch(partition, each, 2)
    assert partition.last_stable_offset == 2


def a_follower_with_an_uncommitted_marker() -> Partition:
    """A record that is committed, the marker of its transaction that is not, and a snapshot of producers behind both."""
    partition = a_partition()
    partition.make_follower(a_state(leader=OTHER))
    batch = build_batch(
        [Record(timestamp=WALL, value=b"v")],
        transactional=True,
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
    )
    marker = end_marker_batch(
        EndMarker(True, 0), producer_id=7, producer_epoch=1, timestamp=WALL, base_offset=1
    )
    append_fetched(partition, batch, leader_epoch=0, high_watermark=1, log_start=0, now=WALL)
    append_fetched(partition, marker, leader_epoch=0, high_watermark=1, log_start=0, now=WALL)
    partition.log.roll(WALL)
    plain = build_batch([Record(timestamp=WALL, value=b"v")] * 2, base_offset=2)
    append_fetched(partition, plain, leader_epoch=0, high_watermark=1, log_start=0, now=WALL)
    assert (partition.high_watermark, partition.last_stable_offset) == (1, 0)
    return partition


@pytest.mark.parametrize("clean", [True, False])
def test_an_end_above_the_high_watermark_does_not_count_after_a_restart_either(clean: bool) -> None:
    before = a_follower_with_an_uncommitted_marker()
    disk = before.log._disk
    before.log.close(WALL)

    log = Log.open(
        disk,
        "/data/t-0",
        TopicSettings(),
        now=WALL,
        clean=clean,
        recovery_point=4,
        topic_id=TOPIC_ID,
    )
    partition = Partition(before.name, TOPIC_ID, log, TopicSettings(), high_watermark=1)
    lead(partition, a_state(epoch=1))

    assert partition.last_stable_offset == 0
    for each in (OTHER, THIRD):
        fetch(partition, each, 4)
    assert partition.last_stable_offset == 4


def test_an_end_above_the_high_watermark_does_not_count_after_a_truncation_either() -> None:
    partition = a_follower_with_an_uncommitted_marker()

    truncate_to(partition, 2, 0)

    assert (partition.high_watermark, partition.last_stable_offset) == (1, 0)


# -- who is in sync -----------------------------------------------------------------------------------------------------


def test_a_follower_that_stopped_fetching_is_to_leave() -> None:
    partition = a_leader()
    append(partition)
    fetch(partition, OTHER, 1, now=LAG_MS)

    assert partition.isr_changes(now=LAG_MS, broker_epoch=10) is None
    proposal = partition.isr_changes(now=LAG_MS + 1, broker_epoch=10)

    assert proposal is not None
    assert proposal.members == (BrokerInIsr(US, 10), BrokerInIsr(OTHER, 20))
    # One at a time.
    assert partition.isr_changes(now=LAG_MS + 2, broker_epoch=10) is None


def test_a_follower_at_the_end_of_a_quiet_log_stays() -> None:
    partition = a_leader()
    for each in (OTHER, THIRD):
        fetch(partition, each, 0)

    assert partition.isr_changes(now=10 * LAG_MS, broker_epoch=10) is None


def test_a_follower_of_a_busy_log_is_caught_up_with_what_it_was_at_its_last_fetch() -> None:
    partition = a_leader(isr=(US, OTHER), replicas=(US, OTHER))
    for step in range(10):
        append(partition)
        fetch(partition, OTHER, step, now=step * LAG_MS // 2)

    assert partition.isr_changes(now=9 * LAG_MS // 2, broker_epoch=10) is None


@pytest.mark.parametrize("epoch", [19, 21])
def test_only_who_is_registered_as_it_says_comes_back(epoch: int) -> None:
    partition = a_leader(isr=(US, THIRD))
    append(partition, 2)
    partition.fetched_by(OTHER, epoch, 2, 0, 0)
    assert not partition.wishes_isr_change(OTHER)

    fetch(partition, OTHER, 2)

    assert partition.wishes_isr_change(OTHER)


def test_who_does_not_have_all_from_before_the_epoch_does_not_come_back() -> None:
    partition = a_leader(isr=(US,))
    append(partition, 3)
    lead(partition, a_state(isr=(US,), epoch=1))

    fetch(partition, OTHER, 2)
    assert not partition.wishes_isr_change(OTHER)
    fetch(partition, OTHER, 3)

    assert partition.wishes_isr_change(OTHER)


def test_an_accepted_proposal_is_the_isr() -> None:
    partition = a_leader(isr=(US, OTHER))
    fetch(partition, THIRD, 0)
    proposal = partition.isr_changes(now=0, broker_epoch=10)
    assert proposal is not None
    assert proposal.isr == (US, OTHER, THIRD)

    partition.isr_accepted(proposal, (US, OTHER, THIRD), leader_epoch=0, partition_epoch=1)

    assert (partition.isr, partition.partition_epoch) == ((US, OTHER, THIRD), 1)
    # The metadata say the same later, or something older.
    assert not lead(partition, a_state(partition_epoch=0, isr=(US,)))
    assert partition.isr == (US, OTHER, THIRD)


def test_an_answer_that_new_metadata_have_overtaken_says_nothing() -> None:
    partition = a_leader(isr=(US, OTHER))
    fetch(partition, THIRD, 0)
    proposal = partition.isr_changes(now=0, broker_epoch=10)
    assert proposal is not None

    lead(partition, a_state(isr=(US,), partition_epoch=2))
    partition.isr_accepted(proposal, (US, OTHER, THIRD), leader_epoch=0, partition_epoch=1)

    assert (partition.isr, partition.partition_epoch) == ((US,), 2)
    assert not partition.isr_refused(proposal, ErrorCode.REQUEST_TIMED_OUT)


@pytest.mark.parametrize(
    ("code", "is_retried", "is_pending"),
    [
        (ErrorCode.INELIGIBLE_REPLICA, False, False),
        (ErrorCode.OPERATION_NOT_ATTEMPTED, False, False),
        (ErrorCode.NEW_LEADER_ELECTED, False, True),
        (ErrorCode.FENCED_LEADER_EPOCH, False, True),
        (ErrorCode.INVALID_UPDATE_VERSION, False, True),
        (ErrorCode.UNKNOWN_TOPIC_ID, False, True),
        (ErrorCode.REQUEST_TIMED_OUT, True, True),
    ],
)
def test_a_refused_proposal_is_withdrawn_sent_again_or_left_to_new_metadata(
    code: ErrorCode, is_retried: bool, is_pending: bool
) -> None:
    partition = a_leader(isr=(US, OTHER))
    fetch(partition, THIRD, 0)
    proposal = partition.isr_changes(now=0, broker_epoch=10)
    assert proposal is not None

    assert partition.isr_refused(proposal, code) == is_retried

    assert partition.leadership is not None
    assert (partition.leadership.isr.pending is proposal) == is_pending


# -- fences -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("replica", "broker_epoch", "known", "code"),
    [
        (9, 1, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (9, 1, 5, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (OTHER, 20, 4, ErrorCode.FENCED_LEADER_EPOCH),
        (OTHER, 20, 6, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (OTHER, 19, 5, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_a_fetch_of_who_is_no_follower_of_now_is_refused(
    replica: int, broker_epoch: int, known: int, code: ErrorCode
) -> None:
    partition = a_leader(epoch=5)

    with pytest.raises(ApiError) as refused:
        partition.check_replica(replica, broker_epoch, known)

    assert code_of(refused) == code


def test_a_follower_that_asks_beyond_the_log_counts_for_nothing() -> None:
    partition = a_leader()
    append(partition)

    with pytest.raises(ApiError) as refused:
        fetch(partition, OTHER, 2)

    assert code_of(refused) == ErrorCode.OFFSET_OUT_OF_RANGE
    fetch(partition, THIRD, 1)
    assert partition.high_watermark == 0


# -- following ----------------------------------------------------------------------------------------------------------


def test_a_leader_that_moved_away_appends_no_more() -> None:
    partition = a_leader()

    assert partition.make_follower(a_state(leader=OTHER, epoch=1))

    assert (partition.role, partition.is_leader) == (Role.FOLLOWER, False)
    with pytest.raises(ApiError) as refused:
        append(partition)
    assert code_of(refused) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_follower_takes_only_what_the_leader_of_now_sent() -> None:
    partition = a_partition()
    partition.make_follower(a_state(leader=OTHER, epoch=1))
    assert not partition.make_follower(a_state(leader=OTHER, epoch=1, partition_epoch=2))
    assert partition.make_follower(a_state(leader=THIRD, epoch=2, partition_epoch=3))

    batch = build_batch([Record(timestamp=WALL, value=b"v")])
    with pytest.raises(ApiError) as refused:
        append_fetched(partition, batch, leader_epoch=1, high_watermark=1, log_start=0, now=WALL)

    assert code_of(refused) == ErrorCode.FENCED_LEADER_EPOCH
    assert partition.log.end_offset == 0


def test_a_follower_commits_what_it_is_told_and_has() -> None:
    partition = a_partition()
    partition.make_follower(a_state(leader=OTHER))
    batch = build_batch([Record(timestamp=WALL, value=b"v")] * 3)

    assert append_fetched(partition, batch, leader_epoch=0, high_watermark=9, log_start=2, now=WALL)

    assert (partition.high_watermark, partition.log.start_offset) == (3, 2)
    # A new leader that knows less is no reason to forget.
    assert not append_fetched(
        partition, bytearray(), leader_epoch=0, high_watermark=1, log_start=2, now=WALL
    )
    assert partition.high_watermark == 3


def test_truncation_takes_the_high_watermark_along() -> None:
    partition = a_partition()
    partition.make_follower(a_state(leader=OTHER))
    for _ in range(3):
        batch = build_batch([Record(timestamp=WALL, value=b"v")])
        batch[0:8] = partition.log.end_offset.to_bytes(8, "big")
        append_fetched(partition, batch, leader_epoch=0, high_watermark=3, log_start=0, now=WALL)

    truncate_to(partition, 1, 0)

    assert (partition.log.end_offset, partition.high_watermark) == (1, 1)


# -- deleting records ---------------------------------------------------------------------------------------------------


def test_the_low_watermark_is_that_of_all_replicas_that_live() -> None:
    partition = a_leader()
    append(partition, 3)
    for each in (OTHER, THIRD):
        fetch(partition, each, 3)

    assert partition.delete_records(2) == 0
    fetch(partition, OTHER, 3, start=2)
    assert partition.low_watermark == 0
    fetch(partition, THIRD, 3, start=2)

    assert partition.low_watermark == 2


# -- producers that come from another leader ------------------------------------------------------------------------------


def a_successor(*, recovery: int = 0) -> Partition:
    """A new leader whose log has sequence 0 of a producer."""
    partition = a_partition()
    partition.make_follower(a_state(leader=OTHER))
    append_fetched(
        partition, a_batch_of(0), leader_epoch=0, high_watermark=1, log_start=0, now=WALL
    )
    lead(partition, a_state(epoch=1, recovery=recovery))
    return partition


def refusal_of(partition: Partition, sequence: int, now: int = 0) -> ErrorCode:
    with pytest.raises(ApiError) as refused:
        partition.append(a_batch_of(sequence), acks=-1, now=WALL + now)
    return code_of(refused)


def test_a_batch_out_of_order_right_after_a_leader_change_is_to_be_sent_again() -> None:
    """Sequence 1 was refused when we did not lead yet, and 2 is here before it comes again.

    OUT_OF_ORDER_SEQUENCE_NUMBER would let the client give itself another epoch, and write again what is in the log.
    """
    partition = a_successor()

    assert refusal_of(partition, 2) == ErrorCode.NOT_LEADER_OR_FOLLOWER

    partition.append(a_batch_of(1), acks=-1, now=WALL)
    partition.append(a_batch_of(2), acks=-1, now=WALL)
    # It has found its way.
    assert refusal_of(partition, 4) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_gap_that_stays_is_told() -> None:
    assert refusal_of(a_successor(), 2, now=5_000) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_after_an_unclean_election_a_gap_is_a_loss() -> None:
    refused = refusal_of(a_successor(recovery=1), 2)

    assert refused == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_verification_does_not_outlive_a_leadership() -> None:
    """The transaction may have ended at the leader in between: its batch would open it again, for ever."""
    partition = a_leader()
    verification = Verification(partition, 7, 0, 0, bumps_epochs=False)
    assert verification.begin()

    partition.make_follower(a_state(leader=OTHER, epoch=1))
    lead(partition, a_state(epoch=2))

    assert verification.is_void
    with pytest.raises(ApiError) as refused:
        verification.check()
    assert code_of(refused) == ErrorCode.INVALID_TXN_STATE
    verification.end()
