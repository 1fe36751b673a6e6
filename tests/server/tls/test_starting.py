"""Stores that cannot be used keep a node from starting: one sentence, with the file."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from klamm.base.settings.load import SettingsError
from klamm.server.node import CannotStart
from server.running_node import RunningNode
from support.brokers import free_port
from support.tls.certificates import PASSWORD, Certificates

SecureNode = Callable[..., RunningNode]


def refusal(secure_node: SecureNode, **settings: object) -> str:
    with pytest.raises((CannotStart, SettingsError)) as refused:
        secure_node(**settings)
    return str(refused.value)


@pytest.mark.parametrize("kind", ["PKCS12", "JKS"])
def test_a_pkcs12_store_will_do_also_under_javas_default_name(
    secure_node: SecureNode, certificates: Certificates, tmp_path: Path, kind: str
) -> None:
    store = tmp_path / "server.p12"
    store.write_bytes(certificates.issue("server").issued.store_pkcs12(PASSWORD))

    secure_node(ssl_keystore_type=kind, ssl_keystore_location=store, ssl_keystore_password=PASSWORD)


def test_keys_may_stand_in_the_settings_for_one_listener(
    tmp_path: Path, certificates: Certificates
) -> None:
    issued = certificates.issue("server").issued
    settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": " ".join(issued.key_pem().decode().split("\n")),
        "ssl.keystore.certificate.chain": issued.certificate_pem().decode(),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": certificates.ca.read_text(),
        "ssl.client.auth": "required",
    }

    with RunningNode(
        tmp_path / "data",
        {
            "listeners": f"SSL://127.0.0.1:{free_port()}",
            "security.inter.broker.protocol": "SSL",
            **{f"listener.name.ssl.{name}": value for name, value in settings.items()},
        },
    ) as node:
        admin = AdminClient(
            {
                "bootstrap.servers": node.address,
                **certificates.librdkafka(certificates.issue("ann")),
            }
        )
        assert admin.list_topics(timeout=20).brokers


def test_what_has_the_listeners_prefix_wins(
    secure_node: SecureNode, certificates: Certificates, tmp_path: Path
) -> None:
    wrong = tmp_path / "nowhere.pem"

    said = refusal(secure_node, listener_name_ssl_ssl_keystore_location=wrong)

    assert said == f"ssl.keystore.location {wrong}: cannot be read: No such file or directory"


def test_a_wrong_password_is_told_without_it(
    secure_node: SecureNode, certificates: Certificates, tmp_path: Path
) -> None:
    store = tmp_path / "server.p12"
    store.write_bytes(certificates.issue("server").issued.store_pkcs12(PASSWORD))

    said = refusal(
        secure_node,
        ssl_keystore_type="PKCS12",
        ssl_keystore_location=store,
        ssl_keystore_password="guess-8",
    )

    assert said == f"{store}: its password does not open it, or it is damaged"


def test_java_s_own_format_is_refused_with_the_command_that_helps(
    secure_node: SecureNode, tmp_path: Path
) -> None:
    store = tmp_path / "server.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2" + bytes(100))

    said = refusal(secure_node, ssl_keystore_type="JKS", ssl_keystore_location=store)

    assert f"keytool -importkeystore -srckeystore {store} -destkeystore {store}.p12" in said


def test_an_expired_certificate_is_refused(
    secure_node: SecureNode, certificates: Certificates
) -> None:
    store = certificates.issue("late", expired=True).store

    said = refusal(secure_node, ssl_keystore_location=store)

    assert said.startswith(f"{store}: the certificate of CN=late,O=klamm has expired at ")


def test_a_certificate_of_the_future_is_refused(
    secure_node: SecureNode, certificates: Certificates
) -> None:
    now = datetime.now(UTC)
    issued = certificates.authority.issue(
        "early", begins=now + timedelta(days=1), ends=now + timedelta(days=2)
    )
    store = certificates.write("early", issued).store

    said = refusal(secure_node, ssl_keystore_location=store)

    assert f"{store}: the certificate of CN=early is not valid before " in said


def test_a_key_of_another_certificate_is_refused(
    secure_node: SecureNode, certificates: Certificates, tmp_path: Path
) -> None:
    one, other = certificates.issue("one"), certificates.issue("other")
    store = tmp_path / "mixed.pem"
    store.write_bytes(one.issued.key_pem() + other.issued.certificate_pem())

    said = refusal(secure_node, ssl_keystore_location=store)

    assert said == f"{store}: the private key does not fit its first certificate"


@pytest.mark.parametrize("content", [b"", b"not a store", b"\x30\x82garbage"])
def test_what_is_no_store_is_refused(
    secure_node: SecureNode, tmp_path: Path, content: bytes
) -> None:
    store = tmp_path / "store"
    store.write_bytes(content)

    assert str(store) in refusal(secure_node, ssl_keystore_location=store)
    assert str(store) in refusal(secure_node, ssl_truststore_location=store)
    assert str(store) in refusal(
        secure_node, ssl_keystore_type="PKCS12", ssl_keystore_location=store
    )


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("ssl_enabled_protocols", "TLSv1.1", "klamm speaks TLSv1.2 and TLSv1.3"),
        ("ssl_cipher_suites", "TLS_RSA_WITH_RC4_128_MD5", "which klamm does not offer"),
        ("ssl_cipher_suites", "TLS_AES_128_GCM_SHA256", "or none"),
        ("ssl_protocol", "SSLv3", "klamm speaks"),
        ("ssl_keystore_type", "BKS", "klamm reads PEM and PKCS12"),
        ("ssl_principal_mapping_rules", "RULE:(/x/", "ssl.principal.mapping.rules"),
        ("ssl_principal_mapping_rules", "RULE:^(?=a)$/x/", "ssl.principal.mapping.rules"),
        ("ssl_principal_mapping_rules", "nonsense", "'nonsense' is not a rule"),
        ("ssl_endpoint_identification_algorithm", "ldap", "must be https or empty"),
    ],
)
def test_settings_that_cannot_be_kept_are_refused(
    secure_node: SecureNode, name: str, value: str, sentence: str
) -> None:
    assert sentence in refusal(secure_node, **{name: value})


def test_a_client_certificate_is_asked_for_only_with_a_trust_store(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    settings = certificates.broker_settings(
        certificates.issue("server"), ssl_client_auth="required"
    )
    del settings["ssl.truststore.location"]

    with pytest.raises(SettingsError, match=r"ssl\.truststore\.location: is missing"):
        RunningNode(
            tmp_path / "data",
            {
                **settings,
                "listeners": "SSL://127.0.0.1:0",
                "security.inter.broker.protocol": "SSL",
            },
        )


def test_a_listener_without_a_key_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"ssl\.keystore\.location: is missing"):
        RunningNode(
            tmp_path / "data",
            {"listeners": "SSL://127.0.0.1:0", "security.inter.broker.protocol": "SSL"},
        )


def test_a_plain_listener_that_others_reach_is_told_of_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with RunningNode(tmp_path / "data", {"listeners": "PLAINTEXT://0.0.0.0:0"}):
        pass

    lines = [each.getMessage() for each in caplog.records if "protocol PLAINTEXT" in each.msg]
    assert len(lines) == 1
    assert "PLAINTEXT://0.0.0.0:0" in lines[0]
