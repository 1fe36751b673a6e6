"""The hand-written FetchResponse is the declared one, byte for byte, in every version."""

import pytest

from klamm.base.errors import ErrorCode
from klamm.base.ids import ZERO_UUID, Uuid
from klamm.log.results import Slice
from klamm.protocol.compile import encode
from klamm.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from klamm.replication.fetch_sessions import FetchPartition
from klamm.server.fetch.fetch_response import Divergence, FetchResult, encode_fetch_response
from klamm.server.metadata.addresses import NodeAddress
from klamm.server.metadata.current_leader import CurrentLeader

TOPIC_ID = Uuid(bytes(range(16)))


class FileOf:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def pread(self, size: int, position: int) -> bytes:
        return self.data[position : position + size]


def records(data: bytes) -> Slice:
    return Slice(FileOf(data), 0, len(data), 0)  # type: ignore[arg-type]


def asked(version: int, topic: str, index: int) -> FetchPartition:
    return FetchPartition(
        topic if version < 13 else "", TOPIC_ID if version >= 13 else ZERO_UUID, index
    )


def expected(version: int) -> bytes:
    topic = FetchableTopicResponse(
        topic="näme",
        topic_id=TOPIC_ID,
        partitions=[
            PartitionData(
                partition_index=0,
                high_watermark=10,
                last_stable_offset=9,
                log_start_offset=1,
                aborted_transactions=None,
                preferred_read_replica=-1,
                records=b"r" * 200,
            ),
            PartitionData(
                partition_index=1,
                high_watermark=5,
                last_stable_offset=5,
                log_start_offset=0,
                aborted_transactions=[AbortedTransaction(producer_id=7, first_offset=3)],
                preferred_read_replica=-1,
                records=b"",
            ),
            PartitionData(
                partition_index=2,
                error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
                high_watermark=-1,
                last_stable_offset=-1,
                log_start_offset=-1,
                aborted_transactions=None,
                preferred_read_replica=-1,
                records=b"",
            ),
            PartitionData(
                partition_index=3,
                high_watermark=8,
                last_stable_offset=8,
                log_start_offset=0,
                aborted_transactions=None,
                preferred_read_replica=-1,
                diverging_epoch=EpochEndOffset(epoch=2, end_offset=6),
                records=b"",
            ),
        ],
    )
    return encode(FetchResponse(session_id=42, responses=[topic]), version)


@pytest.mark.parametrize("version", range(4, 19))
def test_bytes_equal_those_of_the_declared_message(version: int) -> None:
    results = [
        FetchResult(asked(version, "näme", 0), 0, 10, 9, 1, None, records(b"r" * 200)),
        FetchResult(asked(version, "näme", 1), 0, 5, 5, 0, [(7, 3)]),
        FetchResult(asked(version, "näme", 2), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        FetchResult(asked(version, "näme", 3), 0, 8, 8, 0, diverging=Divergence(2, 6)),
    ]

    body = encode_fetch_response(version, error=0, session_id=42, results=results)

    assert b"".join(map(bytes, body.parts)) == expected(version)


@pytest.mark.parametrize("version", range(16, 19))
def test_who_leads_instead_is_told_as_declared(version: int) -> None:
    refused = PartitionData(
        partition_index=2,
        error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=None,
        preferred_read_replica=-1,
        current_leader=LeaderIdAndEpoch(leader_id=3, leader_epoch=7),
        records=b"",
    )
    topic = FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[refused])
    declared = FetchResponse(
        session_id=42,
        responses=[topic],
        node_endpoints=[
            NodeEndpoint(node_id=3, host="häst", port=9092, rack="r"),
            NodeEndpoint(node_id=4, host="", port=1, rack=None),
        ],
    )
    result = FetchResult(asked(version, "", 2), ErrorCode.NOT_LEADER_OR_FOLLOWER)

    body = encode_fetch_response(
        version,
        error=0,
        session_id=42,
        results=[result._replace(leader=CurrentLeader(3, 7))],
        leaders=[NodeAddress(3, "häst", 9092, "r"), NodeAddress(4, "", 1, None)],
    )

    assert b"".join(map(bytes, body.parts)) == encode(declared, version)


@pytest.mark.parametrize("version", range(4, 19))
def test_an_answer_without_partitions_is_the_declared_one(version: int) -> None:
    error = ErrorCode.FETCH_SESSION_ID_NOT_FOUND if version >= 7 else 0

    body = encode_fetch_response(version, error=error, session_id=0, results=())

    assert b"".join(map(bytes, body.parts)) == encode(FetchResponse(error_code=error), version)
