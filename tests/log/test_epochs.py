"""Leader epochs: which began where, and what a follower is told."""

import pytest

from klamm.log.state.epochs import LeaderEpochs


def epochs(*entries: tuple[int, int]) -> LeaderEpochs:
    history = LeaderEpochs()
    for epoch, start in entries:
        history.assign(epoch, start)
    return history


def test_an_epoch_that_goes_on_is_no_news():
    history = epochs((0, 0), (0, 10), (2, 20), (2, 30))

    assert history.entries == ((0, 0), (2, 20))


def test_an_epoch_that_wrote_nothing_makes_room_for_the_next():
    assert epochs((0, 0), (1, 10), (2, 10)).entries == ((0, 0), (2, 10))


def test_an_earlier_start_forgets_what_contradicts_it():
    assert epochs((0, 0), (3, 20), (5, 30), (4, 15)).entries == ((0, 0), (4, 15))


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (0, (0, 10)),  # older than all: ended where our history begins
        (1, (1, 20)),
        (2, (1, 20)),  # never led: the one before it
        (3, (3, 40)),
        (5, (5, 100)),  # the latest goes on to the end of the log
        (6, None),  # not known here yet
        (-1, None),
    ],
)
def test_end_offset_is_where_the_next_epoch_begins(asked: int, answer: tuple[int, int] | None):
    assert epochs((1, 10), (3, 20), (5, 40)).end_offset_for(asked, log_end=100) == answer


def test_without_history_nothing_is_known():
    assert LeaderEpochs().end_offset_for(0, log_end=10) is None


@pytest.mark.parametrize(("offset", "epoch"), [(9, None), (10, 1), (39, 3), (40, 5), (99, 5)])
def test_every_offset_belongs_to_an_epoch(offset: int, epoch: int | None):
    assert epochs((1, 10), (3, 20), (5, 40)).epoch_of(offset) == epoch


def test_cutting_the_end_forgets_epochs_that_began_behind_it():
    history = epochs((1, 10), (3, 20), (5, 40))

    history.truncate_from_end(20)

    assert history.entries == ((1, 10),)
    assert history.latest == 1


def test_cutting_the_start_lets_the_epoch_in_force_begin_there():
    history = epochs((1, 10), (3, 20), (5, 40))

    history.truncate_from_start(25)

    assert history.entries == ((3, 25), (5, 40))


def test_text_is_that_of_kafka_and_reads_back():
    history = epochs((0, 0), (3, 1000))

    assert history.to_text() == "0\n2\n0 0\n3 1000\n"
    assert LeaderEpochs.parse(history.to_text()).entries == history.entries


@pytest.mark.parametrize("text", ["", "0", "0\n2\n0 0\n", "1\n0\n", "0\n1\n0 x\n", "0\n1\n0\n"])
def test_other_text_is_refused(text: str):
    with pytest.raises(ValueError):
        LeaderEpochs.parse(text)
