"""Envelope: a client's request by way of a broker."""

from pathlib import Path

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.apis import APIS
from klamm.protocol.compile import decode, encode
from klamm.protocol.messages.control import DefaultPrincipalData
from klamm.protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from klamm.protocol.messages.describe_cluster import DescribeClusterRequest
from klamm.protocol.messages.envelope import EnvelopeRequest
from klamm.protocol.messages.headers import RequestHeader
from server.handlers.controlling import a_controller

PRINCIPAL = b"\0\0" + encode(DefaultPrincipalData(type="User", name="ANONYMOUS"), 0)
HERE = bytes((127, 0, 0, 1))


def enveloped(request: object, key: int, version: int) -> EnvelopeRequest:
    header = RequestHeader(
        request_api_key=key, request_api_version=version, correlation_id=7, client_id="ann"
    )
    inner = encode(header, APIS[key].request_header_version(version)) + encode(request, version)
    return EnvelopeRequest(
        request_data=inner, request_principal=PRINCIPAL, client_host_address=HERE
    )


@pytest.mark.parametrize("version", [2, 4, 7])
def test_what_is_in_it_is_done_and_the_answer_comes_back_in_another(
    tmp_path: Path, version: int
) -> None:
    with a_controller(tmp_path) as (node, controller):
        topic = CreatableTopic(name="t", num_partitions=2, replication_factor=1)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=5_000)

        answer = controller.ask(enveloped(request, 19, version))

        assert answer.error_code == ErrorCode.NONE
        data = bytes(answer.response_data)
        header = 5 if version >= 5 else 4
        assert data[:4] == (7).to_bytes(4, "big")
        (made,) = decode(CreateTopicsResponse, version, data[header:]).topics
        assert (made.name, made.error_code) == ("t", ErrorCode.NONE)
        assert "t" in node.call(lambda: node.node.broker.image.topics_by_name)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"request_data": b"\0"}, ErrorCode.INVALID_REQUEST),
        ({"request_data": b"\0\x13\0\x07\0\0\0\1\xff\xff\0\xff"}, ErrorCode.INVALID_REQUEST),
        ({"request_data": b"\0\x13\0\x63\0\0\0\1\xff\xff"}, ErrorCode.UNSUPPORTED_VERSION),
        ({"request_principal": b"\0\0\xff"}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"request_principal": b"\0\7"}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"client_host_address": b"1"}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, change: dict[str, bytes], code: ErrorCode
) -> None:
    with a_controller(tmp_path) as (_, controller):
        request = enveloped(CreateTopicsRequest(), 19, 7)
        for name, value in change.items():
            setattr(request, name, value)

        assert controller.ask(request).error_code == code


def test_only_what_may_be_forwarded_is(tmp_path: Path) -> None:
    with a_controller(tmp_path) as (_, controller):
        answer = controller.ask(enveloped(DescribeClusterRequest(endpoint_type=2), 60, 2))

        assert answer.error_code == ErrorCode.INVALID_REQUEST
