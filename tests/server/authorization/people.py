"""Clients of a secured node, each with a name; and rules for them."""

from typing import Any

from klamm.base.acl import AclOperation, AclPermission, AclResourceType, PatternType
from klamm.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from klamm.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from klamm.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from klamm.protocol.messages.sasl_handshake import SaslHandshakeRequest
from server.wire_client import WireClient

PASSWORD = "secret"
USERS = ("admin", "ann", "bob", "broker")
JAAS = "PlainLoginModule required username=admin password=secret " + "".join(
    f'user_{name}="{PASSWORD}" ' for name in USERS
)
STANDARD: dict[str, object] = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.assignment.interval.ms": 0,
    "log.initial.task.delay.ms": 86_400_000,
}
SECURED: dict[str, object] = {
    **STANDARD,
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": f"{JAAS};",
}


def log_in(client: WireClient, user: str) -> WireClient:
    assert client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == 0
    token = f"\0{user}\0{PASSWORD}".encode()
    assert client.ask(SaslAuthenticateRequest(auth_bytes=token), 2).error_code == 0
    return client


def allow(admin: WireClient, user: str, operation: AclOperation, name: str, **more: Any) -> None:
    """On a topic, unless something else is said."""
    rule: dict[str, Any] = {
        "resource_type": AclResourceType.TOPIC,
        "resource_name": name,
        "resource_pattern_type": PatternType.LITERAL,
        "principal": f"User:{user}",
        "host": "*",
        "operation": operation,
        "permission_type": AclPermission.ALLOW,
        **more,
    }
    (result,) = admin.ask(CreateAclsRequest(creations=[AclCreation(**rule)])).results
    assert result.error_code == 0, result


def take_back(admin: WireClient, user: str, name: str) -> None:
    """Every rule about a user and a name."""
    wanted = DeleteAclsFilter(
        resource_type_filter=AclResourceType.ANY,
        resource_name_filter=name,
        pattern_type_filter=PatternType.ANY,
        principal_filter=f"User:{user}",
        host_filter=None,
        operation=AclOperation.ANY,
        permission_type=AclPermission.ANY,
    )
    (result,) = admin.ask(DeleteAclsRequest(filters=[wanted])).filter_results
    assert result.matching_acls
