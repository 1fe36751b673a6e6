"""A quorum of one: it leads at once, commits what its disk holds, and never reuses an epoch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from klamm.base.ids import OffsetAndEpoch
from klamm.protocol.messages.control import LeaderChangeMessage, LeaderChangeMessageVoter
from klamm.protocol.records.batch import check_crc, read_header
from klamm.protocol.records.control import read_control_messages
from klamm.protocol.records.reader import read_records
from klamm.raft.election_state import ElectionState
from klamm.raft.node import NotLeader, RaftNode
from klamm.raft.roles import Role, step


def a_node(*, epoch=0, log_end=(0, 0)) -> RaftNode:
    return RaftNode(
        1, frozenset({1}), state=ElectionState(epoch=epoch), log_end=OffsetAndEpoch(*log_end)
    )


def test_it_leads_at_once_and_says_so_on_disk_first():
    node = a_node()

    ready = node.start(now=10)

    assert node.is_leader
    assert ready.persist == ElectionState(epoch=1, leader_id=1, voters=(1,))
    assert ready.committed == ()


def test_its_epoch_opens_with_a_leader_change():
    (batch,) = a_node(epoch=4, log_end=(20, 4)).start(now=10).append

    header = read_header(batch.data)
    assert (header.base_offset, header.leader_epoch, header.is_control) == (20, 5, True)
    assert check_crc(batch.data)
    voter = LeaderChangeMessageVoter(voter_id=1)
    assert list(read_control_messages(batch.data)) == [
        LeaderChangeMessage(leader_id=1, voters=[voter], granting_voters=[voter])
    ]


@pytest.mark.parametrize(("stored", "in_log", "led"), [(4, 4, 5), (4, 7, 8), (7, 4, 8), (0, 0, 1)])
def test_no_epoch_is_led_twice_even_if_the_state_file_is_lost(stored, in_log, led):
    ready = a_node(epoch=stored, log_end=(9, in_log)).start(now=0)

    assert ready.persist.epoch == led


def test_records_of_one_proposal_are_one_batch():
    node = a_node()
    node.start(now=0)

    (batch,) = node.propose([b"one", b"two"], now=33).append

    assert (batch.base_offset, batch.count, batch.end_offset) == (1, 2, 3)
    found = [(each.offset, each.timestamp, each.value) for each in read_records(batch.data)]
    assert found == [(1, 33, b"one"), (2, 33, b"two")]


def test_what_is_not_on_disk_is_not_committed():
    node = a_node()
    opening = node.start(now=0).append[0]
    first = node.propose([b"one"], now=1).append[0]
    second = node.propose([b"two"], now=2).append[0]

    assert node.flushed(2).committed == [opening, first]
    assert node.high_watermark == 2
    assert node.flushed(3).committed == [second]
    assert node.flushed(3).committed == []


def test_old_records_are_committed_only_with_the_new_epoch_s_first():
    node = a_node(epoch=1, log_end=(5, 1))
    node.start(now=0)

    node.flushed(5)
    assert node.high_watermark == 0
    node.flushed(6)
    assert node.high_watermark == 6


def test_a_batch_that_could_not_be_written_never_was():
    node = a_node()
    node.start(now=0)
    node.flushed(1)
    lost = node.propose([b"lost"], now=1).append[0]

    node.withdraw(lost)

    kept = node.propose([b"kept"], now=2).append[0]
    assert kept.base_offset == lost.base_offset
    assert node.flushed(2).committed == [kept]


def test_only_a_leader_takes_proposals():
    node = a_node()
    with pytest.raises(NotLeader):
        node.propose([b"early"], now=0)

    node.start(now=0)
    node.resign()
    with pytest.raises(NotLeader):
        node.propose([b"late"], now=0)


def test_a_resigned_node_stands_again_in_a_new_epoch():
    node = a_node()
    node.start(now=0)
    node.resign()

    assert node.start(now=1).persist.epoch == 2


def test_roles_follow_the_table():
    assert step(Role.UNATTACHED, Role.CANDIDATE) is Role.CANDIDATE
    with pytest.raises(AssertionError):
        step(Role.UNATTACHED, Role.LEADER)


@given(st.lists(st.integers(0, 3), max_size=40), st.data())
def test_whatever_is_proposed_and_flushed_comes_out_once_and_in_order(sizes, data):
    """0 stands for a flush up to the end of some batch, other numbers for a proposal of as many records."""
    node = a_node()
    written = [*node.start(now=0).append]
    committed = []
    for size in sizes:
        if size:
            written += node.propose([b"x"] * size, now=0).append
        else:
            to = data.draw(st.sampled_from([batch.end_offset for batch in written]))
            committed += node.flushed(to).committed
        node.check_invariants()
    committed += node.flushed(node.end_offset).committed
    node.check_invariants()

    assert committed == written
    assert node.high_watermark == node.end_offset
