"""InitProducerId: every producer gets an id of its own."""

from typing import Any

import pytest

from klamm.base.errors import ErrorCode
from klamm.coordinator.shard import Producer
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest
from server.asking import error
from server.transacting import Speaker
from server.wire_client import WireClient

OLD_EPOCH, FENCED = ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("version", range(6))
def test_each_version_gives_an_id_in_its_first_epoch(client: WireClient, version: int) -> None:
    answer = client.ask(InitProducerIdRequest(transactional_id=None), version)

    assert (answer.error_code, answer.producer_epoch) == (0, 0)
    assert answer.producer_id >= 0


@pytest.mark.usefixtures("node")
def test_no_id_is_given_twice_even_across_blocks(client: WireClient) -> None:
    request = InitProducerIdRequest(transactional_id=None)
    for _ in range(1100):
        client.send(request)

    ids = [client.receive().producer_id for _ in range(1100)]

    assert len(set(ids)) == 1100


@pytest.mark.parametrize(
    "half", [{"producer_id": 5}, {"producer_epoch": 5}, {"transactional_id": ""}]
)
def test_half_an_identity_is_refused(client: WireClient, half: dict[str, Any]) -> None:
    identity: dict[str, Any] = {"transactional_id": None, **half}

    answer = client.ask(InitProducerIdRequest(**identity))

    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert (answer.producer_id, answer.producer_epoch) == (-1, -1)


@pytest.mark.parametrize(("version", "code"), [(3, OLD_EPOCH), (4, FENCED), (5, FENCED)])
def test_an_epoch_that_was_never_given_is_refused(
    speaker: Speaker, version: int, code: ErrorCode
) -> None:
    zombie = Producer(speaker.producer.id, speaker.producer.epoch + 7)

    answer = speaker.ask_init(zombie, version=version)

    assert error(answer.error_code) is code
    assert (answer.producer_id, answer.producer_epoch) == (-1, -1)


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_a_timeout_out_of_bounds_is_refused(client: WireClient, timeout_ms: int) -> None:
    answer = Speaker(client).ask_init(timeout_ms=timeout_ms)

    assert error(answer.error_code) is ErrorCode.INVALID_TRANSACTION_TIMEOUT
