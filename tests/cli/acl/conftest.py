"""A broker with an authorizer, where who comes without a name may make the rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.brokers import start_klamm


@pytest.fixture(scope="package")
def broker() -> Iterator[str]:
    running = start_klamm(
        settings={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
    )
    yield running.address
    assert running.stop() == 0
