"""A node that is told of an authorizer runs with it or not at all."""

from pathlib import Path

import pytest

from klamm.base.acl import AclOperation, AclResourceType
from klamm.base.errors import ErrorCode
from klamm.base.principal import KafkaPrincipal
from klamm.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from klamm.security.acl.standard import StandardAuthorizer
from klamm.security.authorizer import Who
from klamm.security.principal_builder import AuthenticationContext
from klamm.server.node import CannotStart
from server.authorization.people import STANDARD
from server.running_node import RunningNode
from server.wire_client import ConnectionClosed, WireClient


@pytest.mark.parametrize(
    "wrong",
    [
        {"authorizer.class.name": "com.example.Authorizer"},
        {"authorizer.class.name": "no.such.module:Authorizer"},
        {"authorizer.class.name": f"{__name__}:NoSuchClass"},
        {"authorizer.class.name": f"{__name__}:Unwilling"},
        {"principal.builder.class": "com.example.Builder"},
        {"super.users": "admin"},
    ],
    ids=lambda wrong: next(iter(wrong.values())),
)
def test_a_node_does_not_start_without_the_authorizer_that_it_is_told(
    tmp_path: Path, wrong: dict[str, object]
) -> None:
    with pytest.raises(CannotStart, match=next(iter(wrong))):
        RunningNode(tmp_path, {**STANDARD, **wrong})


class Unwilling:
    def __init__(self, configs: object) -> None:
        raise OSError("no connection to whom I ask")


def test_before_the_log_is_read_only_super_users_may_do_anything() -> None:
    rules = StandardAuthorizer(("User:admin",), allow_if_no_acl_found=True)

    def may(name: str) -> bool:
        who = Who(KafkaPrincipal("User", name), "127.0.0.1")
        return rules.authorize(who, AclOperation.READ, AclResourceType.TOPIC, "t")

    assert [may("admin"), may("ann")] == [True, False]
    rules.follow({})
    assert [may("admin"), may("ann")] == [True, True]


class OnlyReading:
    """An authorizer of one's own: everybody may read, nobody may do anything else."""

    def __init__(self, configs: object) -> None:
        self.generation = 0

    def authorize(self, who: Who, operation: AclOperation, kind: object, name: str) -> bool:
        return operation in (AclOperation.READ, AclOperation.DESCRIBE)

    def authorize_by_resource_type(self, who: Who, operation: AclOperation, kind: object) -> bool:
        return False

    def follow(self, acls: object) -> None:
        pass


class ByListener:
    """A principal builder of one's own."""

    def __init__(self, configs: object) -> None:
        pass

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        if context.listener == "CLOSED":
            raise ValueError("nobody may come this way")
        return KafkaPrincipal("Listener", context.listener)


def delete_answer(address: str) -> ErrorCode:
    with WireClient(address) as client:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=5_000)
        (answer,) = client.ask(request).responses
    return answer.error_code


def test_an_authorizer_can_be_a_class_of_ones_own(tmp_path: Path) -> None:
    settings: dict[str, object] = {"authorizer.class.name": f"{__name__}:OnlyReading"}
    with RunningNode(tmp_path, settings) as node:
        # It may be looked at, and is not there.
        assert delete_answer(node.address) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_who_somebody_is_can_be_a_class_of_ones_own(tmp_path: Path) -> None:
    settings: dict[str, object] = {
        **STANDARD,
        "principal.builder.class": f"{__name__}:ByListener",
        "super.users": "Listener:PLAINTEXT",
    }
    with RunningNode(tmp_path, settings) as node:
        assert delete_answer(node.address) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_connection_that_nobody_can_name_is_closed(tmp_path: Path) -> None:
    settings: dict[str, object] = {
        "principal.builder.class": f"{__name__}:ByListener",
        "listeners": "CLOSED://127.0.0.1:0",
        "listener.security.protocol.map": "CLOSED:PLAINTEXT",
        "inter.broker.listener.name": "CLOSED",
    }
    with RunningNode(tmp_path, settings) as node, pytest.raises((ConnectionClosed, OSError)):
        delete_answer(node.address)
