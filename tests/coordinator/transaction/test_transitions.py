"""Every transition of a transaction, by name; and that there are no others."""

import pytest

from coordinator.transaction.desk import NEW, OLD, P0, P1, Desk, refusal
from klamm.base.errors import ErrorCode
from klamm.coordinator.shard import Producer
from klamm.coordinator.transaction.states import AT_REST, ENDING, NEXT, State
from klamm.coordinator.transaction.transaction import created, joined

RESTING = sorted(AT_REST)
VERSIONS = pytest.mark.parametrize("version", [OLD, NEW])


def test_the_first_init_makes_an_empty_transaction() -> None:
    desk = Desk()

    assert desk.init() == Producer(100, 0)
    assert desk.state is State.EMPTY


@pytest.mark.parametrize("state", RESTING)
def test_init_at_rest_empties_and_raises_the_epoch(state: State) -> None:
    desk = Desk()
    producer = desk.in_state(state)

    assert desk.init() == Producer(producer.id, producer.epoch + 1)
    assert desk.state is State.EMPTY


@pytest.mark.parametrize("state", RESTING)
def test_the_first_partition_begins_a_transaction(state: State) -> None:
    desk = Desk()
    producer = desk.in_state(state)
    desk.now += 5

    desk.add(producer, P1)

    assert desk.state is State.ONGOING
    assert desk.transaction.partitions == {P1}
    assert desk.transaction.start_ms == desk.now


def test_more_partitions_join_an_ongoing_transaction() -> None:
    desk = Desk()
    producer = desk.in_state(State.ONGOING)
    start = desk.now
    desk.now += 5

    desk.add(producer, P1)

    assert desk.state is State.ONGOING
    assert desk.transaction.partitions == {P0, P1}
    assert (desk.transaction.start_ms, desk.transaction.update_ms) == (start, desk.now)


def test_a_partition_that_takes_part_already_is_not_written_again() -> None:
    desk = Desk()
    producer = desk.in_state(State.ONGOING)
    count = len(desk.log.entries)

    desk.add(producer, P0)

    assert len(desk.log.entries) == count


@VERSIONS
def test_a_commit_prepares(version: int) -> None:
    desk = Desk(version)
    producer = desk.in_state(State.ONGOING)

    desk.end(producer, commit=True)

    assert desk.state is State.PREPARE_COMMIT


@VERSIONS
def test_an_abort_prepares(version: int) -> None:
    desk = Desk(version)
    producer = desk.in_state(State.ONGOING)

    desk.end(producer, commit=False)

    assert desk.state is State.PREPARE_ABORT


@pytest.mark.parametrize("state", RESTING)
def test_an_abort_of_nothing_prepares_where_epochs_rise(state: State) -> None:
    desk = Desk(NEW)
    producer = desk.in_state(state)
    desk.now += 5

    assert desk.end(producer, commit=False) == Producer(producer.id, producer.epoch + 1)
    assert desk.state is State.PREPARE_ABORT
    assert desk.transaction.start_ms == desk.now
    desk.mark()
    assert desk.state is State.COMPLETE_ABORT


@VERSIONS
def test_a_new_producer_aborts_what_is_ongoing(version: int) -> None:
    desk = Desk(version)
    producer = desk.in_state(State.ONGOING)

    assert refusal(desk.init) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert desk.state is State.PREPARE_ABORT
    assert desk.transaction.producer == Producer(producer.id, producer.epoch + 1)


@pytest.mark.parametrize(
    ("prepared", "complete"),
    [
        (State.PREPARE_COMMIT, State.COMPLETE_COMMIT),
        (State.PREPARE_ABORT, State.COMPLETE_ABORT),
    ],
)
def test_the_last_marker_completes(prepared: State, complete: State) -> None:
    desk = Desk()
    producer = desk.init()
    desk.add(producer, P0, P1)
    desk.end(producer, commit=prepared is State.PREPARE_COMMIT)

    desk.mark(P0)
    assert desk.state is prepared
    desk.mark(P1)

    assert desk.state is complete
    assert not desk.transaction.partitions
    assert desk.endings() == []


@pytest.mark.parametrize("state", sorted(ENDING))
def test_while_it_ends_everybody_is_told_to_wait(state: State) -> None:
    desk = Desk()
    producer = desk.in_state(state)
    concurrent = ErrorCode.CONCURRENT_TRANSACTIONS
    earlier = Producer(producer.id, producer.epoch - 1)
    is_commit = state is State.PREPARE_COMMIT

    assert refusal(desk.init) is concurrent
    assert refusal(lambda: desk.init(producer)) is concurrent
    assert refusal(lambda: desk.add(producer, P0)) is concurrent
    assert refusal(lambda: desk.verify(producer, P0)) is concurrent
    assert refusal(lambda: desk.end(earlier, commit=is_commit)) is concurrent
    assert desk.state is state


@pytest.mark.parametrize("state", RESTING)
def test_an_unused_id_is_forgotten(state: State) -> None:
    desk = Desk(transactional_id_expiration_ms=1_000)
    desk.in_state(state)

    desk.pass_time(2 * 3_600_000)

    assert desk.shard.transactions == {}
    assert desk.written()[-1] is None


def test_only_the_transitions_of_the_table_can_be_taken() -> None:
    transaction = created("tx", 1, 1, 0)
    for state, following in NEXT.items():
        if State.ONGOING not in following:
            object.__setattr__(transaction, "state", state)
            with pytest.raises(AssertionError):
                joined(transaction, frozenset(), 0, 0)


def test_states_have_the_names_and_numbers_of_kafka() -> None:
    assert {state.label: int(state) for state in State} == {
        "Empty": 0,
        "Ongoing": 1,
        "PrepareCommit": 2,
        "PrepareAbort": 3,
        "CompleteCommit": 4,
        "CompleteAbort": 5,
        "Dead": 6,
        "PrepareEpochFence": 7,
    }
