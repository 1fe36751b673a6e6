"""The quorum-state file, as Kafka writes it."""

import pytest

from klamm.raft.election_state import CorruptElectionState, ElectionState, dump, parse

# Written by a real 4.3.1.
SEEN = (
    '{"clusterId":"","leaderId":1,"leaderEpoch":3,"votedId":-1,"appliedOffset":0,'
    '"currentVoters":[{"voterId":1}],"data_version":0}'
)


def test_the_text_is_kafka_s():
    state = ElectionState(epoch=3, leader_id=1, voters=(1,))

    assert dump(state) == SEEN
    assert parse(SEEN) == state


def test_voters_that_stand_in_the_log_do_not_stand_in_the_file():
    # Written by a real 4.3.1 that was formatted with --standalone.
    seen = (
        '{"leaderId":1,"leaderEpoch":1,"votedId":-1,'
        '"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    )
    state = ElectionState(epoch=1, leader_id=1)

    assert dump(state) == seen
    assert parse(seen) == state


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        '{"data_version":0}',
        SEEN.replace('"leaderEpoch":3', '"leaderEpoch":"x"'),
        SEEN.replace('"leaderEpoch":3', '"leaderEpoch":-1'),
        SEEN.replace('"data_version":0', '"data_version":2'),
        SEEN[:-1],
    ],
)
def test_a_file_that_cannot_be_read_is_not_guessed_at(text):
    with pytest.raises(CorruptElectionState):
        parse(text)
