"""klamm tells clients of its APIs as Kafka does, and refuses what it does not speak in the same way."""

import struct
from typing import Any

import pytest

from klamm.protocol.apis import API_BY_NAME
from klamm.protocol.compile import decode
from klamm.protocol.messages.api_versions import ApiVersionsResponse
from oracle.cases.case import Ask
from oracle.comparing import differences
from oracle.stage import Stage
from support.raw_client import ConnectionClosed, RawClient

pytestmark = pytest.mark.oracle

API = API_BY_NAME["api_versions"]
NAMED = {"client_software_name": "oracle", "client_software_version": "1.0"}


def versions(stage: Stage, version: int, **values: str) -> Any:
    return stage.ask(Ask("api_versions", values), version=version, fresh="")


@pytest.mark.parametrize("version", range(API.lowest, API.highest_stable + 1))
def test_every_advertised_api_has_kafkas_versions(kafka: Stage, klamm: Stage, version: int) -> None:
    theirs = {api["api_key"]: api for api in versions(kafka, version, **NAMED)["api_keys"]}
    ours = {api["api_key"]: api for api in versions(klamm, version, **NAMED)["api_keys"]}

    assert ours == {key: theirs[key] for key in ours}


@pytest.mark.parametrize("version", range(API.lowest, API.highest_stable + 1))
def test_features_are_kafkas(kafka: Stage, klamm: Stage, version: int) -> None:
    theirs, ours = (versions(stage, version, **NAMED) for stage in (kafka, klamm))

    assert differences(theirs, ours, ignoring=["api_keys"]) == []


@pytest.mark.parametrize("name", ["", "-", "two words", "ümlaut", "ok", "a" * 300])
def test_names_of_client_software_are_judged_alike(kafka: Stage, klamm: Stage, name: str) -> None:
    values = {"client_software_name": name, "client_software_version": "1.0"}
    theirs, ours = (versions(stage, API.highest_stable, **values) for stage in (kafka, klamm))

    assert differences(theirs, ours, ignoring=["api_keys"]) == []


def _ask_in_unknown_version(stage: Stage, version: int) -> list[Any]:
    """Whatever the version, the answer to an unknown one has the form of version 0."""
    with RawClient(stage.address) as client:
        answer = client.ask_bytes(API.key, version, b"", header=2)
    decoded = decode(ApiVersionsResponse, 0, answer[4:])
    return [
        decoded.error_code,
        [(a.api_key, a.min_version, a.max_version) for a in decoded.api_keys],
    ]


@pytest.mark.parametrize("version", [API.highest_stable + 1, 99, 32_767, -1])
def test_unknown_version_is_answered_with_the_known_ones(
    kafka: Stage, klamm: Stage, version: int
) -> None:
    theirs, ours = (_ask_in_unknown_version(stage, version) for stage in (kafka, klamm))

    assert ours == theirs


def _send(stage: Stage, key: int, version: int, body: bytes, *, header: int) -> str:
    with RawClient(stage.address) as client:
        try:
            return f"{len(client.ask_bytes(key, version, body, header=header))} bytes"
        except ConnectionClosed:
            return "closed"


@pytest.mark.parametrize("api", ["produce", "fetch", "list_offsets", "metadata", "create_topics"])
@pytest.mark.parametrize("step", [-1, 1], ids=["too old", "too new"])
def test_version_that_is_not_served_ends_the_connection(
    kafka: Stage, klamm: Stage, api: str, step: int
) -> None:
    row = API_BY_NAME[api]
    version = row.lowest - 1 if step < 0 else row.highest_stable + 1
    if version < 0:
        pytest.skip("there is no older version")

    theirs, ours = (
        _send(stage, row.key, version, bytes(20), header=row.request_header_version(version))
        for stage in (kafka, klamm)
    )

    assert ours == theirs == "closed"


@pytest.mark.parametrize("key", [-1, 4, 7, 999])
def test_unknown_api_ends_the_connection(kafka: Stage, klamm: Stage, key: int) -> None:
    theirs, ours = (_send(stage, key, 0, bytes(20), header=1) for stage in (kafka, klamm))

    assert ours == theirs == "closed"


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack(">i", -1),
        struct.pack(">i", 0),
        struct.pack(">i", 200_000_000),
        struct.pack(">ih", 2, 3),
        struct.pack(">ihhih", 10, 3, 1, 7, 30),
        struct.pack(">ihhihi", 14, 3, 1, 7, -1, 1_000_000),
        b"GET / HTTP/1.1\r\n\r\n",
    ],
    ids=["negative", "empty", "too large", "half a header", "half a name", "bad count", "HTTP"],
)
def test_frame_that_makes_no_sense_ends_the_connection(
    kafka: Stage, klamm: Stage, frame: bytes
) -> None:
    def outcome(stage: Stage) -> str:
        with RawClient(stage.address) as client:
            client.send(frame)
            try:
                return f"{len(client.receive())} bytes"
            except ConnectionClosed:
                return "closed"

    assert outcome(klamm) == outcome(kafka) == "closed"


def test_bytes_behind_a_request_are_ignored(kafka: Stage, klamm: Stage) -> None:
    metadata = API_BY_NAME["metadata"]
    body = struct.pack(">i", 0) + b"more"

    theirs, ours = (_send(stage, metadata.key, 1, body, header=1) for stage in (kafka, klamm))

    assert (ours == "closed") == (theirs == "closed")


def test_requests_sent_together_are_answered_in_order(kafka: Stage, klamm: Stage) -> None:
    def answers(stage: Stage) -> list[int]:
        with RawClient(stage.address) as client:
            request = struct.pack(">hhih", API.key, 0, 0, -1)
            frames = [
                struct.pack(">i", 10) + request[:4] + struct.pack(">ih", n, -1) for n in range(50)
            ]
            client.send(b"".join(frames))
            return [struct.unpack(">i", client.receive()[:4])[0] for _ in range(50)]

    assert answers(klamm) == answers(kafka) == list(range(50))
