"""One connection, against a broker that the test scripts byte by byte."""

import asyncio
from random import Random

import pytest

from client.networks import Answer, ScriptedBroker
from klamm.client.connection import Connection, connect
from klamm.client.environment import Address, Environment
from klamm.client.errors import ConnectionLost, TimedOut, Unsupported
from klamm.protocol.apis import API_BY_NAME
from klamm.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from klamm.protocol.messages.metadata import MetadataRequest, MetadataResponse

ADDRESS = Address("broker", 9092)


async def connection_to(broker: ScriptedBroker) -> Connection:
    environment = Environment(rng=Random(1), open=broker.open)
    return await connect(ADDRESS, environment, client_id="test", timeout_ms=1000)


def heartbeats(answer: Answer) -> ScriptedBroker:
    return ScriptedBroker({HeartbeatRequest: answer})


def echo(request: object, _: int) -> HeartbeatResponse:
    """Answers with the generation as error code, so that answers can be told apart."""
    assert isinstance(request, HeartbeatRequest)
    return HeartbeatResponse(error_code=request.generation_id)


async def test_pipelined_requests_get_their_own_answers() -> None:
    connection = await connection_to(heartbeats(echo))

    results = [
        connection.send(HeartbeatRequest(generation_id=number), HeartbeatResponse)
        for number in range(20)
    ]

    assert [answer.error_code for answer in await asyncio.gather(*results)] == list(range(20))


async def test_old_broker_is_asked_again_in_a_version_that_it_knows() -> None:
    broker = ScriptedBroker(versions_up_to=2)

    connection = await connection_to(broker)

    assert [version for _, version in broker.asked] == [4, 2]
    assert connection.version_of(API_BY_NAME["heartbeat"]) == 4


async def test_api_that_the_broker_does_not_offer_is_refused_here() -> None:
    connection = await connection_to(ScriptedBroker())

    with pytest.raises(Unsupported):
        connection.version_of(API_BY_NAME["fetch"], at_most=3)


async def test_lost_connection_fails_everybody_who_waits() -> None:
    broker = heartbeats(lambda *_: None)
    connection = await connection_to(broker)
    results = [connection.send(HeartbeatRequest(), HeartbeatResponse) for _ in range(3)]

    broker.wires[0].abort()
    failures = await asyncio.gather(*results, return_exceptions=True)

    assert [type(failure) for failure in failures] == [ConnectionLost] * 3
    assert not connection.is_open
    with pytest.raises(ConnectionLost):
        connection.send(HeartbeatRequest(), HeartbeatResponse)


async def test_broker_that_does_not_answer_is_given_up() -> None:
    connection = await connection_to(heartbeats(lambda *_: None))
    behind = connection.send(HeartbeatRequest(), HeartbeatResponse)

    with pytest.raises(TimedOut):
        await connection.ask(HeartbeatRequest(), HeartbeatResponse, timeout_ms=10)

    assert not connection.is_open
    with pytest.raises(TimedOut):
        await behind


async def test_caller_that_went_away_does_not_disturb_the_next() -> None:
    connection = await connection_to(heartbeats(echo))
    first = connection.send(HeartbeatRequest(generation_id=1), HeartbeatResponse)
    second = connection.send(HeartbeatRequest(generation_id=2), HeartbeatResponse)

    first.cancel()

    assert (await second).error_code == 2
    assert connection.is_open


@pytest.mark.parametrize(
    "bytes_sent",
    [
        pytest.param((9).to_bytes(4, "big") + bytes(9), id="wrong correlation id"),
        pytest.param((1 << 30).to_bytes(4, "big"), id="frame too large"),
        pytest.param(b"\xff\xff\xff\xff", id="negative size"),
        pytest.param((5).to_bytes(4, "big") + b"\0\0\0\2\0", id="cut short"),
    ],
)
async def test_nonsense_ends_the_connection(bytes_sent: bytes) -> None:
    broker = heartbeats(lambda *_: None)
    connection = await connection_to(broker)
    result = connection.send(HeartbeatRequest(), HeartbeatResponse)

    broker.wires[0].send_raw(bytes_sent)

    with pytest.raises(ConnectionLost):
        await result


async def test_answer_that_nobody_asked_for_ends_the_connection() -> None:
    broker = ScriptedBroker({MetadataRequest: lambda *_: MetadataResponse()})
    connection = await connection_to(broker)

    broker.wires[0].send(bytes(4))
    with pytest.raises(ConnectionLost):
        await connection.ask(MetadataRequest(), MetadataResponse, timeout_ms=1000)


async def test_refused_connection_is_a_lost_one() -> None:
    broker = ScriptedBroker()
    broker.is_down = True

    with pytest.raises(ConnectionLost, match="broker:9092"):
        await connection_to(broker)
