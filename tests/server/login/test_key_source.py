"""Keys for tokens that cannot be had: strangers with tokens of unknown keys must not make us ask all the time."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any, cast

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from klamm.security.sasl.signing_keys import UnknownKey
from klamm.server.login.key_source import KeySource
from klamm.server.world.ports import World
from server.echo import until

KEY = ec.generate_private_key(ec.SECP256R1())


class Endpoint:
    """It answers once. It is clock, network and workers at the same time."""

    def __init__(self) -> None:
        self.asked = 0
        self.now = 0

    def monotonic(self) -> int:
        return self.now

    def get(self, url: str, seconds: float) -> bytes:
        self.asked += 1
        if self.asked > 1:
            raise ConnectionRefusedError
        public = jwt.algorithms.ECAlgorithm.to_jwk(KEY.public_key(), as_dict=True)
        return json.dumps({"keys": [{**public, "kid": "one"}]}).encode()

    async def run(self, work: Any) -> Any:
        return work()


def test_an_endpoint_that_fails_is_not_asked_for_every_unknown_key() -> None:
    endpoint = Endpoint()
    world = cast(World, SimpleNamespace(clock=endpoint, network=endpoint, workers=endpoint))

    async def test() -> None:
        source = KeySource(world, "http://127.0.0.1/keys", 3_600_000)
        await until(lambda: endpoint.asked == 1)
        endpoint.now = 60_000
        for _ in range(5):
            with pytest.raises(UnknownKey):
                source.claims(jwt.encode({}, KEY, "ES256", {"kid": "two"}))
            for _ in range(10):
                await asyncio.sleep(0)
        await source.close()

    asyncio.run(test())

    assert endpoint.asked == 2
