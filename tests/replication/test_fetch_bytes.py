"""Fetches written and read by hand are the same bytes as those of the compiled codecs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from klamm.base.ids import Uuid
from klamm.protocol.compile import decode, encode
from klamm.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    NodeEndpoint,
    PartitionData,
    ReplicaState,
)
from klamm.replication.fetch_bytes import VERSIONS, Part, Question, read_answer, write_request

TOPICS = [Uuid(bytes([number]) * 16) for number in range(3)]
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
questions = st.lists(
    st.builds(Question, st.sampled_from(TOPICS), int32, int32, int64, int32, int64),
    max_size=300,
)


@pytest.mark.parametrize("version", VERSIONS)
@given(asked=questions, session=st.tuples(int32, int32), replica=st.tuples(int32, int64))
def test_a_request_is_what_the_codec_writes(
    version: int, asked: list[Question], session: tuple[int, int], replica: tuple[int, int]
) -> None:
    topics: dict[Uuid, FetchTopic] = {}
    for each in asked:
        topic = topics.setdefault(each.topic_id, FetchTopic(topic_id=each.topic_id, partitions=[]))
        topic.partitions.append(
            FetchPartition(
                partition=each.partition,
                current_leader_epoch=each.leader_epoch,
                fetch_offset=each.offset,
                last_fetched_epoch=each.last_epoch,
                log_start_offset=each.log_start,
                partition_max_bytes=7,
            )
        )
    request = FetchRequest(
        replica_state=ReplicaState(replica_id=replica[0], replica_epoch=replica[1]),
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1000,
        session_id=session[0],
        session_epoch=session[1],
        topics=list(topics.values()),
    )
    out = bytearray()

    write_request(
        out,
        asked,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1000,
        max_partition_bytes=7,
        session=session,
        replica=replica,
    )

    # The codec leaves out a replica that nobody is.
    if replica != (-1, -1):
        assert bytes(out) == encode(request, version)
    assert decode(FetchRequest, version, out) == request


def a_part(**changes: object) -> PartitionData:
    facts = {"partition_index": 1, "high_watermark": 5, "log_start_offset": 2, "records": b"abc"}
    return PartitionData(**{**facts, **changes})  # type: ignore[arg-type]


def an_answer(*parts: PartitionData, **facts: object) -> FetchResponse:
    topics = [FetchableTopicResponse(topic_id=TOPICS[1], partitions=list(parts))] if parts else []
    return FetchResponse(session_id=9, responses=topics, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 20_000, 3_000_000])
def test_an_answer_is_read_as_the_codec_reads_it(version: int, size: int) -> None:
    answer = an_answer(a_part(records=b"x" * size), a_part(partition_index=2, records=None))
    data = memoryview(b"12345" + encode(answer, version))

    found = read_answer(data, 5)

    assert found is not None
    session_id, parts = found
    assert session_id == 9
    assert parts == [
        Part(TOPICS[1], 1, 5, 2, memoryview(b"x" * size)),
        Part(TOPICS[1], 2, 5, 2, memoryview(b"")),
    ]


def test_an_answer_with_nothing_in_it() -> None:
    assert read_answer(memoryview(encode(an_answer(), 18)), 0) == (9, [])


@pytest.mark.parametrize(
    "answer",
    [
        an_answer(error_code=70),
        an_answer(a_part(error_code=1)),
        an_answer(a_part(diverging_epoch=EpochEndOffset(epoch=1, end_offset=2))),
        an_answer(a_part(aborted_transactions=[AbortedTransaction(producer_id=1)])),
        an_answer(a_part(), node_endpoints=[NodeEndpoint(node_id=1, host="a", port=1)]),
    ],
)
def test_what_is_not_usual_is_left_to_the_codec(answer: FetchResponse) -> None:
    assert read_answer(memoryview(encode(answer, 18)), 0) is None


@given(st.binary(max_size=200))
def test_rubbish_is_not_usual(data: bytes) -> None:
    read_answer(memoryview(data), 0)


def test_an_answer_that_ends_too_early_is_not_usual() -> None:
    whole = encode(an_answer(a_part()), 18)

    assert [read_answer(memoryview(whole[:end]), 0) for end in range(len(whole))] == [None] * len(
        whole
    )
