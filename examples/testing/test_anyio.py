"""Tests that are coroutines. anyio's plugin runs this one; with pytest-asyncio it is the same but for the marker."""

import pytest

from klamm.testing import Broker

pytest.importorskip("anyio")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
@pytest.mark.kafka(topics=["orders"])
async def test_coroutines_go_on_while_they_wait(kafka_broker: Broker) -> None:
    await kafka_broker.aio.produce("orders", ["one"])

    await kafka_broker.aio.expect("orders").within(5).equals("one")
