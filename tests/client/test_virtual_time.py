"""The client on a loop whose clock jumps: minutes of waiting pass at once, and the same way every time."""

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeVar

import pytest

from client.networks import ScriptedBroker
from client.test_cluster import metadata
from klamm.base.errors import ErrorCode
from klamm.client import Environment, Producer, ProducerSettings
from klamm.client.errors import TimedOut
from klamm.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from klamm.protocol.messages.metadata import MetadataRequest
from klamm.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from klamm.testing.clock import ManualClock

T = TypeVar("T")


class JumpingLoop(asyncio.SelectorEventLoop):
    """Does not wait for the next deadline, but moves its clock there."""

    def __init__(self) -> None:
        super().__init__(selectors.SelectSelector())
        self._moved = 0.0
        self._wait = self._selector.select  # type: ignore[attr-defined]
        self._selector.select = self._jump  # type: ignore[attr-defined]

    def time(self) -> float:
        return self._moved

    def _jump(self, timeout: float | None = None) -> object:
        if timeout:
            self._moved += timeout
        return self._wait(0)


def run(work: Callable[[], Awaitable[T]]) -> tuple[T, float]:
    """The result, and how long it took by the loop's clock."""

    async def main() -> T:
        return await work()

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        result = runner.run(main())
        return result, runner.get_loop().time()


def broker_that_answers(*codes: ErrorCode | None) -> ScriptedBroker:
    """To each Produce its code, None for silence; then silence."""
    left = list(codes)

    def produce(request: object, _: int) -> ProduceResponse | None:
        assert isinstance(request, ProduceRequest)
        code = left.pop(0) if left else None
        if code is None:
            return None
        part = PartitionProduceResponse(error_code=code, base_offset=5)
        topic = TopicProduceResponse(
            topic_id=request.topic_data[0].topic_id, partition_responses=[part]
        )
        return ProduceResponse(responses=[topic])

    return ScriptedBroker(
        {
            MetadataRequest: lambda *_: metadata(),
            InitProducerIdRequest: lambda *_: InitProducerIdResponse(producer_id=1),
            ProduceRequest: produce,
        }
    )


async def send_one(broker: ScriptedBroker, clock: ManualClock) -> object:
    environment = Environment(clock=clock, rng=Random(1), open=broker.open)
    async with Producer("a:1", ProducerSettings(), environment=environment) as producer:
        try:
            return await producer.send_and_wait("topic", b"value")
        except TimedOut as e:
            return e


def test_record_that_nobody_acknowledges_fails_after_the_delivery_timeout() -> None:
    outcome, took = run(lambda: send_one(broker_that_answers(), ManualClock()))

    assert isinstance(outcome, TimedOut)
    assert 120 <= took < 170


def test_retries_wait_as_the_backoff_says_and_the_record_has_the_environments_time() -> None:
    refusals = [ErrorCode.NOT_ENOUGH_REPLICAS] * 3
    broker = broker_that_answers(*refusals, ErrorCode.NONE)

    outcome, took = run(lambda: send_one(broker, ManualClock(1234)))

    assert outcome == ("topic", 0, 5, 1234)
    assert took * 1.25 >= 0.1 + 0.2 + 0.4
    assert took < 1.0


@pytest.mark.parametrize("seed", range(3))
def test_same_seed_gives_the_same_history(seed: int) -> None:
    def history() -> tuple[object, float]:
        codes = [
            Random(seed).choice([ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.LEADER_NOT_AVAILABLE])
            for _ in range(4)
        ]
        broker = broker_that_answers(*codes, ErrorCode.NONE)
        return run(lambda: send_one(broker, ManualClock()))

    assert history() == history()
