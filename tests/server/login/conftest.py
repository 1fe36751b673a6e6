"""A node that asks everybody for a name."""

from collections.abc import Iterator

import pytest

from server.running_node import RunningNode
from support.brokers import free_port

MECHANISMS = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
USERS = 'PlainLoginModule required user_admin="a secret" user_ann="another";'


def secured(**settings: object) -> dict[str, object]:
    return {
        "listeners": f"SASL_PLAINTEXT://127.0.0.1:{free_port()}",
        "inter.broker.listener.name": "SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": MECHANISMS,
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": USERS,
        "connection.failed.authentication.delay.ms": 1,
        **settings,
    }


@pytest.fixture(scope="module")
def secured_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    with RunningNode(tmp_path_factory.mktemp("secured"), secured()) as node:
        yield node
