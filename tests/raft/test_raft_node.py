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
from klamm.raft.messages import ReplicaKey
from klamm.raft.node import NotLeader, RaftNode
from klamm.raft.roles import Role, step
from klamm.raft.voters import VoterHistory, VoterSet
from support.simulated_quorum import Store


def a_node(*, epoch=0, log_end=(0, 0), stamp=33) -> RaftNode:
    return RaftNode(
        ReplicaKey(1),
        state=ElectionState(epoch=epoch),
        log=Store(),
        log_end=OffsetAndEpoch(*log_end),
        history=VoterHistory(VoterSet.static({1: None})),
        draw=lambda below: 0,
        stamp=lambda: stamp,
    )


def test_it_leads_at_once_and_says_so_on_disk_first():
    node = a_node()

    ready = node.start(now=10)

    assert node.is_leader
    assert ready.persist == ElectionState(epoch=1, leader_id=1, voted_id=1, voters=(1,))
    assert ready.send == []
    assert node.high_watermark == 0


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

    (batch,) = node.propose([b"one", b"two"]).append

    assert (batch.base_offset, batch.count, batch.end_offset) == (1, 2, 3)
    found = [(each.offset, each.timestamp, each.value) for each in read_records(batch.data)]
    assert found == [(1, 33, b"one"), (2, 33, b"two")]


def test_what_is_not_on_disk_is_not_committed():
    node = a_node()
    node.start(now=0)
    node.propose([b"one"])
    node.propose([b"two"])

    node.flushed(2, now=0)
    assert node.high_watermark == 2
    node.flushed(3, now=0)
    assert node.high_watermark == 3


def test_old_records_are_committed_only_with_the_new_epoch_s_first():
    node = a_node(epoch=1, log_end=(5, 1))
    node.start(now=0)

    node.flushed(5, now=0)
    assert node.high_watermark == 0
    node.flushed(6, now=0)
    assert node.high_watermark == 6


def test_a_batch_that_could_not_be_written_never_was():
    node = a_node()
    node.start(now=0)
    node.flushed(1, now=0)
    lost = node.propose([b"lost"]).append[0]

    node.withdraw(lost)

    kept = node.propose([b"kept"]).append[0]
    assert kept.base_offset == lost.base_offset
    node.flushed(2, now=0)
    assert node.high_watermark == 2


def test_only_a_leader_takes_proposals():
    node = a_node()
    with pytest.raises(NotLeader):
        node.propose([b"early"])

    node.start(now=0)
    node.resign(now=0)
    with pytest.raises(NotLeader):
        node.propose([b"late"])


def test_a_resigned_node_stands_again_in_a_new_epoch():
    node = a_node()
    node.start(now=0)
    node.resign(now=0)

    at = node.next_wake(0)
    assert at > 0
    # Nobody else can vote: the epoch after the one it gives up is led when its election is due.
    while not node.is_leader:
        node.wake(at)
        at = node.next_wake(at)

    assert node.epoch == 3


def test_roles_follow_the_table():
    assert step(Role.UNATTACHED, Role.PROSPECTIVE) is Role.PROSPECTIVE
    with pytest.raises(AssertionError):
        step(Role.UNATTACHED, Role.LEADER)


@given(st.lists(st.integers(0, 3), max_size=40), st.data())
def test_committed_is_what_was_ever_flushed(sizes, data):
    """0 stands for a flush up to the end of some batch, other numbers for a proposal of as many records."""
    node = a_node()
    written = [*node.start(now=0).append]
    flushed = 0
    for size in sizes:
        if size:
            written += node.propose([b"x"] * size).append
        else:
            to = data.draw(st.sampled_from([batch.end_offset for batch in written]))
            flushed = max(flushed, to)
            node.flushed(to, now=0)
        node.check_invariants()
        assert node.high_watermark == flushed

    assert [batch.base_offset for batch in written[1:]] == [b.end_offset for b in written[:-1]]
    node.flushed(node.end_offset, now=0)
    assert node.high_watermark == node.end_offset
