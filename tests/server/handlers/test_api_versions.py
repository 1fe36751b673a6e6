"""ApiVersions: what is served here, and how a client of another time finds out."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.protocol.apis import APIS
from klamm.protocol.compile import decode, encode
from klamm.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from server.conftest import Connect
from server.running_node import RunningNode
from server.wire_client import ConnectionClosed, WireClient

VERSIONS = range(5)
A_CLIENT = ApiVersionsRequest(client_software_name="wire", client_software_version="1.0")


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_lists_what_is_served(client: WireClient, version: int) -> None:
    answer = client.ask(A_CLIENT, version)

    served = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
    assert answer.error_code == 0
    # Produce says 0 for the sake of old clients, as Kafka does.
    assert (served[0], served[1], served[18]) == ((0, 13), (4, 18), (0, 4))
    for key, (low, high) in served.items():
        assert (low, high) == (APIS[key].lowest if key else 0, APIS[key].highest_stable)


@pytest.mark.parametrize("version", VERSIONS)
def test_features_are_listed_as_far_as_the_version_can_tell_them(
    client: WireClient, version: int
) -> None:
    answer = client.ask(A_CLIENT, version)

    supported = {each.name: each.max_version for each in answer.supported_features}
    finalized = {each.name: each.max_version_level for each in answer.finalized_features}
    assert supported.get("metadata.version") == (30 if version >= 3 else None)
    # The lowest level of this one is 0, which older clients take for a mistake.
    assert ("group.version" in supported) == (version >= 4)
    assert finalized.get("metadata.version") == (30 if version >= 3 else None)


@pytest.mark.parametrize("version", [5, 99, -1, 2**15 - 1])
def test_a_future_version_is_answered_in_the_first_one(client: WireClient, version: int) -> None:
    frame = b"\0\x12" + version.to_bytes(2, "big", signed=True) + b"\0\0\0\x05\0\x04wire"

    client.send_frame(frame + b"\0whatever a future version may hold")

    answer = client.receive_frame()
    told = decode(ApiVersionsResponse, 0, answer[4:])
    assert answer[:4] == b"\0\0\0\x05"
    assert told.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(api.api_key, api.min_version, api.max_version) for api in told.api_keys] == [
        (18, 0, 4)
    ]
    assert encode(told, 0) == answer[4:]
    # And the connection goes on.
    assert client.ask(A_CLIENT).error_code == 0


@pytest.mark.parametrize(
    ("name", "version"), [("", "1"), ("a b", "1"), ("a", "-1"), ("a", ""), ("ä", "1")]
)
def test_a_client_must_have_a_proper_name(client: WireClient, name: str, version: str) -> None:
    request = ApiVersionsRequest(client_software_name=name, client_software_version=version)

    answer = client.ask(request)

    assert (answer.error_code, answer.api_keys) == (ErrorCode.INVALID_REQUEST, [])


def test_every_api_that_is_listed_answers_in_every_version(
    connect: Connect, node: RunningNode
) -> None:
    unanswered = []
    for listed in connect().ask(A_CLIENT).api_keys:
        api = APIS[listed.api_key]
        for version in range(max(api.lowest, listed.min_version), listed.max_version + 1):
            with WireClient(node.address) as client:
                request: Any = A_CLIENT if api.name == "api_versions" else api.request()
                if api.name == "produce":
                    request.acks = 1
                try:
                    client.ask(request, version)
                except ConnectionClosed:
                    unanswered.append((api.name, version))

    assert unanswered == []
