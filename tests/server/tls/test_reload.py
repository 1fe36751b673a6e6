"""Certificates that are replaced while the node runs."""

import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from klamm.cli.certs.authority import Authority
from klamm.server import certificates as listener_certificates
from server.running_node import RunningNode
from support.patience import eventually
from support.tls.certificates import Certificates

SecureNode = Callable[..., RunningNode]


@pytest.fixture(autouse=True)
def look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener_certificates, "LOOK_SECONDS", 0.05)


def until(true: Callable[[], bool]) -> None:
    def attempt() -> None:
        assert true()

    eventually(attempt)


def serial_number(node: RunningNode) -> int:
    """Of the certificate that a new connection is shown."""
    host, port = node.address.rsplit(":", 1)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection((host, int(port)), timeout=15) as plain,
        context.wrap_socket(plain) as secure,
    ):
        der = secure.getpeercert(binary_form=True)
    assert der is not None
    from cryptography import x509

    return x509.load_der_x509_certificate(der).serial_number


def alter(admin: AdminClient, node_id: int = 1, **changes: object) -> None:
    entries = [
        ConfigEntry(
            f"listener.name.ssl.{name.replace('_', '.')}",
            str(value),
            incremental_operation=AlterConfigOpType.SET,
        )
        for name, value in changes.items()
    ]
    resource = ConfigResource(ResourceType.BROKER, str(node_id), incremental_configs=entries)
    (future,) = admin.incremental_alter_configs([resource]).values()
    future.result(30)


def test_a_file_that_changes_is_read_again_and_old_connections_stay(
    secure_node: SecureNode, certificates: Certificates
) -> None:
    node = secure_node()
    admin = AdminClient({"bootstrap.servers": node.address, **certificates.librdkafka()})
    admin.list_topics(timeout=20)

    new = certificates.issue("server")

    until(lambda: serial_number(node) == new.issued.certificate.serial_number)
    assert admin.list_topics(timeout=20).brokers


def test_a_store_that_cannot_be_used_is_refused_once_and_the_old_one_stays(
    secure_node: SecureNode, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    node = secure_node()
    before = serial_number(node)
    store = Path(str(node.settings.static["ssl.keystore.location"]))

    store.write_bytes(b"half a sto")

    def refusals() -> list[str]:
        return [each.getMessage() for each in caplog.records if "kept the old" in each.msg]

    until(lambda: bool(refusals()))
    assert serial_number(node) == before
    assert refusals() == [
        f"kept the old certificates: listener=SSL reason={store}: has no private key in PEM form"
    ]


def test_settings_of_a_listener_change_its_certificates(
    secure_node: SecureNode, certificates: Certificates
) -> None:
    node = secure_node()
    admin = AdminClient({"bootstrap.servers": node.address, **certificates.librdkafka()})
    new = certificates.write(
        "elsewhere",
        certificates.authority.issue(
            "server", hosts=("localhost", "127.0.0.1", "more"), organization="klamm"
        ),
    )

    alter(admin, ssl_keystore_location=new.store)

    until(lambda: serial_number(node) == new.issued.certificate.serial_number)


@pytest.mark.parametrize("what", ["missing", "no store", "another name", "fewer hosts"])
def test_settings_that_would_shut_a_listener_are_refused(
    secure_node: SecureNode, certificates: Certificates, tmp_path: Path, what: str
) -> None:
    node = secure_node()
    admin = AdminClient({"bootstrap.servers": node.address, **certificates.librdkafka()})
    before = serial_number(node)
    store = tmp_path / "new.pem"
    issue = certificates.authority.issue
    if what == "no store":
        store.write_bytes(b"nothing")
    elif what == "another name":
        store.write_bytes(issue("other", hosts=("localhost", "127.0.0.1")).store_pem())
    elif what == "fewer hosts":
        store.write_bytes(issue("server", organization="klamm", hosts=("127.0.0.1",)).store_pem())

    with pytest.raises(KafkaException) as refused:
        alter(admin, ssl_keystore_location=store)

    assert refused.value.args[0].code() == KafkaError.INVALID_REQUEST
    assert str(store) in refused.value.args[0].str()
    assert serial_number(node) == before


def test_whom_to_trust_can_change(secure_node: SecureNode, certificates: Certificates) -> None:
    others = Authority.create("others")
    node = secure_node(ssl_client_auth="required")
    ann, bob = certificates.issue("ann"), certificates.issue("bob", by=others)
    admin = AdminClient({"bootstrap.servers": node.address, **certificates.librdkafka(ann)})
    trusted = certificates.ca.with_name("others.pem")
    trusted.write_bytes(others.certificate_pem())

    alter(admin, ssl_truststore_location=trusted)

    def is_let_in() -> bool:
        settings = {**certificates.librdkafka(bob), "bootstrap.servers": node.address}
        try:
            return bool(AdminClient(settings).list_topics(timeout=1).brokers)
        except KafkaException:
            return False

    until(is_let_in)
