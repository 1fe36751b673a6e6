"""What nodes of the quorum say to each other survives Kafka's wire form."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from klamm.base.errors import ApiError, ErrorCode
from klamm.base.ids import OffsetAndEpoch, Uuid
from klamm.protocol.compile import decode, encode
from klamm.raft.messages import (
    Address,
    Answer,
    BeginEpoch,
    EndEpoch,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    ReplicaKey,
    SnapshotAnswer,
    Vote,
    VoteAnswer,
)
from klamm.server.quorum import answers, requests
from klamm.server.quorum.requests import Terms

TERMS = Terms(cluster_id="c", listener="CONTROLLER")
IDS = st.integers(0, 2**31 - 1)
OFFSETS = st.integers(0, 2**63 - 1)
UUIDS = st.binary(min_size=16, max_size=16).map(Uuid)
KEYS = st.builds(ReplicaKey, IDS, UUIDS)
ADDRESSES = st.builds(Address, st.text("abc.", min_size=1), st.integers(1, 65_535))
ENDS = st.builds(OffsetAndEpoch, OFFSETS, IDS)
ERRORS = st.sampled_from(list(ErrorCode))


def over_the_wire(message: Any, version: int) -> Any:
    return decode(type(message), version, encode(message, version))


@given(st.builds(Vote, KEYS, IDS, ENDS, st.booleans(), KEYS))
def test_votes(vote: Vote) -> None:
    heard = over_the_wire(requests.to_wire(vote, TERMS), 2)

    assert requests.read_vote(heard, TERMS) == vote


@given(st.builds(BeginEpoch, IDS, IDS, KEYS, st.none() | ADDRESSES))
def test_beginnings(begin: BeginEpoch) -> None:
    heard = over_the_wire(requests.to_wire(begin, TERMS), 1)

    assert requests.read_begin_epoch(heard, TERMS) == begin


@given(st.builds(EndEpoch, IDS, IDS, st.lists(KEYS).map(tuple), st.none() | ADDRESSES))
def test_ends(end: EndEpoch) -> None:
    heard = over_the_wire(requests.to_wire(end, TERMS), 1)

    assert requests.read_end_epoch(heard, TERMS) == end


@given(st.lists(IDS))
def test_successors_of_old_versions_have_no_directories(ids: list[int]) -> None:
    end = EndEpoch(1, 2, tuple(ReplicaKey(each) for each in ids))

    heard = over_the_wire(requests.to_wire(end, TERMS), 0)

    assert requests.read_end_epoch(heard, TERMS) == end


@given(st.builds(Fetch, KEYS, IDS, ENDS, OFFSETS))
def test_fetches(fetch: Fetch) -> None:
    heard = over_the_wire(requests.to_wire(fetch, TERMS), 18)

    assert requests.read_fetch(heard, TERMS, 18) == fetch


@given(st.builds(FetchSnapshot, KEYS, IDS, ENDS, OFFSETS))
def test_fetches_of_snapshots(fetch: FetchSnapshot) -> None:
    heard = over_the_wire(requests.to_wire(fetch, TERMS), 1)

    assert requests.read_fetch_snapshot(heard, TERMS) == fetch


@given(st.data())
def test_answers(data: st.DataObject) -> None:
    leader = data.draw(st.none() | IDS)
    common = {
        "error": data.draw(ERRORS),
        "epoch": data.draw(IDS),
        "leader_id": leader,
        "leader_address": None if leader is None else data.draw(st.none() | ADDRESSES),
    }
    vote = VoteAnswer(**common, is_granted=data.draw(st.booleans()))
    plain = Answer(**common)
    fetch = FetchAnswer(
        **common,
        high_watermark=data.draw(OFFSETS),
        records=data.draw(st.binary()),
        diverging=data.draw(st.none() | ENDS),
        snapshot=data.draw(st.none() | ENDS),
    )
    piece = SnapshotAnswer(
        **common,
        snapshot=data.draw(ENDS),
        position=data.draw(OFFSETS),
        size=data.draw(OFFSETS),
        data=data.draw(st.binary()),
    )

    assert answers.read(over_the_wire(answers.vote_response(vote), 2)) == vote
    assert answers.read(over_the_wire(answers.begin_epoch_response(plain), 1)) == plain
    assert answers.read(over_the_wire(answers.end_epoch_response(plain), 1)) == plain
    assert answers.read(over_the_wire(answers.fetch_response(fetch, log_start=0), 18)) == fetch
    assert answers.read(over_the_wire(answers.snapshot_response(piece), 1)) == piece


def test_a_refusal_of_the_whole_request_is_no_answer() -> None:
    response = answers.begin_epoch_response(Answer(epoch=3))
    response.error_code = ErrorCode.INCONSISTENT_CLUSTER_ID

    assert answers.read(response) is None


def test_an_answer_about_something_else_is_none() -> None:
    response = answers.vote_response(VoteAnswer(epoch=3))
    response.topics = []

    assert answers.read(response) is None


@pytest.mark.parametrize("cluster_id", ["another", ""])
def test_another_cluster_is_not_heard(cluster_id: str) -> None:
    other = Terms(cluster_id=cluster_id, listener="CONTROLLER")
    message = requests.to_wire(Vote(ReplicaKey(1), 1, OffsetAndEpoch(0, 0), True), other)

    with pytest.raises(ApiError) as refused:
        requests.read_vote(message, TERMS)
    assert refused.value.code is ErrorCode.INCONSISTENT_CLUSTER_ID
