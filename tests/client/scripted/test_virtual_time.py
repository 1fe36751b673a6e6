"""The client on a loop whose clock jumps: minutes of waiting pass at once, and the same way every time."""

from random import Random

import pytest

from client.networks import ScriptedBroker
from client.scripted.jumping_loop import producing_broker, run
from klamm.base.errors import ErrorCode
from klamm.client import Environment, Producer, ProducerSettings
from klamm.client.errors import TimedOut
from klamm.testing.clock import ManualClock

SILENCE = [None] * 100


async def send_one(broker: ScriptedBroker, clock: ManualClock) -> object:
    environment = Environment(clock=clock, rng=Random(1), open=broker.open)
    async with Producer("a:1", ProducerSettings(), environment=environment) as producer:
        try:
            return await producer.send_and_wait("topic", b"value")
        except TimedOut as e:
            return str(e)


def test_record_that_nobody_acknowledges_fails_after_the_delivery_timeout() -> None:
    outcome, took = run(lambda: send_one(producing_broker(*SILENCE), ManualClock()))

    assert outcome == "it could not be delivered in time"
    assert 120 <= took < 170


def test_retries_wait_as_the_backoff_says_and_the_record_has_the_environments_time() -> None:
    broker = producing_broker(*[ErrorCode.NOT_ENOUGH_REPLICAS] * 3)

    outcome, took = run(lambda: send_one(broker, ManualClock(1234)))

    assert outcome == ("topic", 0, 5, 1234)
    assert 0.8 * 0.7 <= took < 1.2 * 0.7 + 0.1


@pytest.mark.parametrize("seed", range(3))
def test_same_seed_gives_the_same_history(seed: int) -> None:
    def history() -> tuple[object, float]:
        rng = Random(seed)
        refusals = [ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.LEADER_NOT_AVAILABLE, None]
        broker = producing_broker(*(rng.choice(refusals) for _ in range(4)))
        return run(lambda: send_one(broker, ManualClock()))

    assert history() == history()
