"""The table of APIs agrees with the declarations and loads none of them by itself."""

import subprocess
import sys
from pathlib import Path

import pytest

import klamm.protocol.messages
from klamm.protocol.apis import (
    API_BY_NAME,
    APIS,
    Api,
    request_header_version,
    response_header_version,
)
from klamm.protocol.declare import schema_of

NOT_AN_API = {"__init__", "headers", "control", "consumer_protocol"}


def every_api() -> list[Api]:
    return list(APIS.values())


@pytest.mark.parametrize("api", every_api(), ids=lambda api: api.name)
def test_the_row_says_what_its_messages_declare(api: Api) -> None:
    request, response = schema_of(api.request), schema_of(api.response)

    assert (request.kind, response.kind) == ("request", "response")
    assert request.api_key == response.api_key == api.key
    assert request.versions == response.versions == (api.lowest, api.highest)
    assert request.flexible_since == response.flexible_since == api.flexible_since


def test_every_file_of_messages_has_a_row() -> None:
    files = {path.stem for path in Path(klamm.protocol.messages.__path__[0]).glob("*.py")}

    assert files - NOT_AN_API == set(API_BY_NAME)


def test_keys_are_in_order_and_those_of_zookeepers_time_are_gone() -> None:
    assert list(APIS) == [key for key in range(93) if key not in (4, 5, 6, 7)]


def test_a_version_in_the_making_is_not_stable() -> None:
    unstable = {api.name: (api.highest_stable, api.highest) for api in every_api() if api.unstable}

    assert unstable == {"init_producer_id": (5, 6)}


def test_the_quorum_is_for_controllers_only() -> None:
    assert API_BY_NAME["vote"].listeners == ("controller",)
    assert API_BY_NAME["produce"].listeners == ("broker",)
    assert API_BY_NAME["create_topics"].listeners == ("broker", "controller")


@pytest.mark.parametrize(
    ("name", "version", "request_header", "response_header"),
    [
        ("produce", 8, 1, 0),
        ("produce", 9, 2, 1),
        ("sasl_handshake", 1, 1, 0),
        ("api_versions", 2, 1, 0),
        pytest.param("api_versions", 4, 2, 0, id="api_versions is answered with the old header"),
    ],
)
def test_headers_follow_from_the_version(
    name: str, version: int, request_header: int, response_header: int
) -> None:
    key = API_BY_NAME[name].key

    assert request_header_version(key, version) == request_header
    assert response_header_version(key, version) == response_header


def test_names_are_also_known_as_kafka_writes_them() -> None:
    assert API_BY_NAME["offset_for_leader_epoch"].title == "OffsetForLeaderEpoch"


def test_importing_the_table_imports_no_message() -> None:
    program = "import sys, klamm.protocol.apis; print('klamm.protocol.messages' in sys.modules)"

    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout

    assert output == "False\n"
