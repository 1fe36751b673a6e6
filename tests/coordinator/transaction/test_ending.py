"""Who may end a transaction, and what happens to a request that comes twice."""

import pytest

from coordinator.transaction.desk import ID, NEW, OLD, P0, P1, Desk, refusal
from klamm.base.errors import ErrorCode
from klamm.coordinator.shard import Producer
from klamm.coordinator.transaction.states import State

COMMIT, ABORT = True, False
FENCED = ErrorCode.PRODUCER_FENCED
INVALID = ErrorCode.INVALID_TXN_STATE
ENDING = ErrorCode.CONCURRENT_TRANSACTIONS
# Nothing happened, the answer is the same as before; and: the transaction ends now.
REPEATED, ENDED = "repeated", "ended"

# The table of ending_rules: a request of the epoch before, and one of the epoch that the coordinator has.
TABLE = {
    State.EMPTY: {ABORT: (FENCED, ENDED), COMMIT: (FENCED, INVALID)},
    State.ONGOING: {ABORT: (FENCED, ENDED), COMMIT: (FENCED, ENDED)},
    State.PREPARE_ABORT: {ABORT: (ENDING, FENCED), COMMIT: (INVALID, FENCED)},
    State.PREPARE_COMMIT: {ABORT: (INVALID, FENCED), COMMIT: (ENDING, FENCED)},
    State.COMPLETE_ABORT: {ABORT: (REPEATED, ENDED), COMMIT: (INVALID, INVALID)},
    State.COMPLETE_COMMIT: {ABORT: (INVALID, ENDED), COMMIT: (REPEATED, INVALID)},
}
# Without epochs that rise there is only the epoch that the coordinator has.
OLD_TABLE = {
    State.EMPTY: {ABORT: INVALID, COMMIT: INVALID},
    State.ONGOING: {ABORT: ENDED, COMMIT: ENDED},
    State.PREPARE_ABORT: {ABORT: ENDING, COMMIT: INVALID},
    State.PREPARE_COMMIT: {ABORT: INVALID, COMMIT: ENDING},
    State.COMPLETE_ABORT: {ABORT: REPEATED, COMMIT: INVALID},
    State.COMPLETE_COMMIT: {ABORT: INVALID, COMMIT: REPEATED},
}
STATES = pytest.mark.parametrize("state", list(TABLE))
ENDS = pytest.mark.parametrize("commit", [COMMIT, ABORT], ids=["commit", "abort"])


def outcome(desk: Desk, producer: Producer, commit: bool) -> object:
    before = desk.state, len(desk.log.entries)
    code = refusal(lambda: desk.end(producer, commit=commit))
    if code is not None:
        assert (desk.state, len(desk.log.entries)) == before
        return code
    return REPEATED if len(desk.log.entries) == before[1] else ENDED


@STATES
@ENDS
@pytest.mark.parametrize("bumps_back", [1, 0], ids=["repeated", "current"])
def test_ends_where_epochs_rise(state: State, commit: bool, bumps_back: int) -> None:
    desk = Desk(NEW)
    current = desk.in_state(state)
    # An epoch before the first one would be refused for another reason.
    while current.epoch < 1 and state in (State.EMPTY, State.ONGOING):
        current = desk.init() if state is State.EMPTY else _again(desk, current)
    expected = TABLE[state][commit][0 if bumps_back else 1]

    assert outcome(desk, Producer(current.id, current.epoch - bumps_back), commit) == expected


def _again(desk: Desk, producer: Producer) -> Producer:
    producer = desk.end(producer, commit=True)
    desk.mark()
    desk.add(producer, P0)
    return producer


@STATES
@ENDS
def test_ends_where_epochs_do_not_rise(state: State, commit: bool) -> None:
    desk = Desk(OLD)
    current = desk.in_state(state)

    assert outcome(desk, current, commit) == OLD_TABLE[state][commit]


@pytest.mark.parametrize("version", [OLD, NEW])
@STATES
def test_another_epoch_is_fenced_and_another_id_unknown(state: State, version: int) -> None:
    desk = Desk(version)
    current = desk.in_state(state)
    other = Producer(current.id + 7, current.epoch)

    assert outcome(desk, Producer(current.id, current.epoch + 1), ABORT) == FENCED
    assert outcome(desk, Producer(current.id, current.epoch - 2), ABORT) == FENCED
    assert outcome(desk, other, ABORT) == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_an_id_that_nobody_uses_cannot_be_ended() -> None:
    desk = Desk()

    assert refusal(lambda: desk.end(Producer(1, 0), commit=True)) == (
        ErrorCode.INVALID_PRODUCER_ID_MAPPING
    )
    assert refusal(lambda: desk.end(Producer(1, 0), commit=True, name="")) == (
        ErrorCode.INVALID_REQUEST
    )


@ENDS
def test_the_epoch_rises_with_every_end_and_the_client_is_told(commit: bool) -> None:
    desk = Desk(NEW)
    producer = desk.init()
    for epoch in range(1, 4):
        desk.add(producer, P0)
        following = desk.end(producer, commit=commit)

        assert following == Producer(producer.id, epoch)
        assert [each.producer for each in desk.endings()] == [following]
        desk.mark()
        assert desk.end(producer, commit=commit) == following
        producer = following


def test_a_client_of_the_old_protocol_keeps_its_epoch_on_a_new_cluster() -> None:
    desk = Desk(NEW)
    producer = desk.in_state(State.ONGOING)

    assert desk.end(producer, commit=True, version=OLD) == producer
    assert desk.transaction.client_version == 0
    desk.mark()
    assert desk.end(producer, commit=True, version=OLD) == producer


def test_no_marker_goes_out_before_the_decision_is_committed() -> None:
    desk = Desk()
    producer = desk.in_state(State.ONGOING)
    desk.log.holds = True

    reply = desk.ask(
        lambda token: desk.shard.end(ID, producer, True, token, client_version=NEW, now=desk.moment)
    )

    assert reply is None
    assert desk.endings() == []
    desk.log.high_watermark = desk.log.end_offset
    assert len(list(desk.runtime.committed())) == 1
    (ending,) = desk.endings()
    assert ending.is_commit
    assert ending.unmarked == {P0}


def test_a_decision_that_was_not_committed_is_not_made() -> None:
    desk = Desk()
    producer = desk.in_state(State.ONGOING)
    desk.log.holds = True
    desk.ask(
        lambda token: desk.shard.end(ID, producer, True, token, client_version=NEW, now=desk.moment)
    )

    desk.reload()
    desk.log.holds = False

    assert desk.state is State.ONGOING
    assert desk.end(producer, commit=False) == Producer(producer.id, 1)
    assert desk.state is State.PREPARE_ABORT


@pytest.mark.parametrize("version", [OLD, NEW])
@ENDS
def test_after_a_crash_the_same_decision_goes_to_every_partition_again(
    commit: bool, version: int
) -> None:
    desk = Desk(version)
    producer = desk.init()
    desk.add(producer, P0, P1)
    desk.end(producer, commit=commit)
    (before,) = desk.endings()
    desk.mark(P0)

    desk.reload()

    assert desk.endings() == [before]
    desk.mark()
    assert desk.state is (State.COMPLETE_COMMIT if commit else State.COMPLETE_ABORT)


def test_the_markers_of_an_ending_that_is_over_complete_nothing() -> None:
    desk = Desk()
    producer = desk.in_state(State.ONGOING)
    desk.end(producer, commit=True)
    (first,) = desk.endings()
    desk.mark()
    desk.add(desk.transaction.producer, P1)
    desk.end(desk.transaction.producer, commit=True)

    desk.ask(lambda token: desk.shard.marked(ID, first.producer, [P1], token, desk.moment))

    assert desk.state is State.PREPARE_COMMIT
    assert desk.endings()[0].unmarked == {P1}
